"""Converts emulator faults to errors of the catalogue, at their MLIR line if known."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.ir.locations import UNKNOWN, FileLoc
from gpucodegen.ptx import faults

ERRORS: dict[str, type[errors.LaunchFailed]] = {
    faults.OUT_OF_BOUNDS: errors.KernelOutOfBounds,
    faults.MISALIGNED: errors.KernelMisaligned,
    faults.RACE: errors.SharedRace,
    faults.DIVERGENT_BARRIER: errors.DivergentBarrier,
    faults.UNINITIALISED: errors.UninitialisedRead,
    faults.IN_FLIGHT: errors.KernelTransferInFlight,
    faults.ENDLESS_LOOP: errors.KernelEndless,
}
"""By the kind of a fault; any other is a `LaunchFailed`."""

_HINT = "Correct the kernel, or report it: a kernel of the compiler should not fault"


def error_of(fault: faults.Fault, device: object) -> errors.LaunchFailed:
    """The error of the catalogue for a kernel's fault.

    >>> error = error_of(faults.Fault(faults.RACE, "race", "k"), "emulated device 0")
    >>> error.code, str(error).partition(". ")[0]
    ('L012', 'error: kernel k failed: race, on emulated device 0')
    """
    place = fault.location
    kind = ERRORS.get(fault.kind, errors.LaunchFailed)
    return kind(
        UNKNOWN if place is None else FileLoc(*place),
        kernel=fault.kernel,
        reason=f"{fault.details}, on {device}",
        hint=_HINT,
        block=fault.block,
        thread=fault.thread,
        line=fault.line,
    )
