"""Error catalogue, part L: faults of a kernel on the emulated device.

Each is a failed launch, as it would be on a GPU; ``details`` hold the names and numbers
of its message: the kernel, the block, the thread, the line of PTX.
"""

from __future__ import annotations

from gpucodegen.errors.launch import (
    IndexOutOfBounds,
    LaunchFailed,
    MisalignedAccess,
    UnfinishedTransfer,
)


class DivergentBarrier(LaunchFailed, code="L011"):
    """Threads of one block that do not meet at one barrier."""

    remedy = "Let every thread of the block reach the same barriers"


class SharedRace(LaunchFailed, code="L012"):
    """Two threads that touch one element without order."""

    remedy = "Put a barrier between the two accesses"


class KernelOutOfBounds(LaunchFailed, IndexOutOfBounds, code="L170"):
    """A kernel's access outside every allocation, or outside the block's memory."""

    remedy = "Correct the index or the loop bounds"


class KernelMisaligned(LaunchFailed, MisalignedAccess, code="L171"):
    """A kernel's vector access whose address the hardware refuses."""

    remedy = "Align the offset and the strides, or declare a smaller alignment"


class UninitialisedRead(LaunchFailed, code="L172"):
    """A kernel's read of shared memory that no thread has written."""

    remedy = "Write it first, and put a barrier between"


class KernelTransferInFlight(LaunchFailed, UnfinishedTransfer, code="L173"):
    """A kernel's access to data whose copy is under way."""

    remedy = "Wait for the transfer first"


class KernelEndless(LaunchFailed, code="L174"):
    """A kernel that has not ended after as many steps as it may take."""

    remedy = (
        "Let its loops end, or set GPUCODEGEN_EMULATED_STEPS to more steps, 0 for any"
    )
