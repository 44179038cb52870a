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


class DivergentBarrier(LaunchFailed):
    """Threads of one block that do not meet at one barrier."""

    code = "L011"
    remedy = "Let every thread of the block reach the same barriers"


class SharedRace(LaunchFailed):
    """Two threads that touch one element without order."""

    code = "L012"
    remedy = "Put a barrier between the two accesses"


class KernelOutOfBounds(LaunchFailed, IndexOutOfBounds):
    """A kernel's access outside every allocation, or outside the block's memory."""

    code = "L170"
    remedy = "Correct the index or the loop bounds"


class KernelMisaligned(LaunchFailed, MisalignedAccess):
    """A kernel's vector access whose address the hardware refuses."""

    code = "L171"
    remedy = "Align the offset and the strides, or declare a smaller alignment"


class UninitialisedRead(LaunchFailed):
    """A kernel's read of shared memory that no thread has written."""

    code = "L172"
    remedy = "Write it first, and put a barrier between"


class KernelTransferInFlight(LaunchFailed, UnfinishedTransfer):
    """A kernel's access to data whose copy is under way."""

    code = "L173"
    remedy = "Wait for the transfer first"


class KernelEndless(LaunchFailed):
    """A kernel that has not ended after as many steps as it may take."""

    code = "L174"
    remedy = (
        "Let its loops end, or set GPUCODEGEN_EMULATED_STEPS to more steps, 0 for any"
    )
