"""Which transfers the hardware makes on its own, and in pieces of how many bytes.

cp.async moves 4, 8 or 16 bytes from global to shared memory, between addresses that are
multiples of that number.  Any other transfer is a loop of loads and stores; bulk copies
and tensor maps (sm_90) are not emitted.  The plan made here is what the text asks of
the intrinsics, and what `gpucodegen.program.Program.transfers` reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from gpucodegen.ir.locations import Location, file_location

WIDTHS = (16, 8, 4)
"""Bytes of one cp.async, widest first."""

ASYNCHRONOUS_FROM, ASYNCHRONOUS_TO = "global", "shared"


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """``width``: bytes of each asynchronous copy; 0 is a copy by load and store."""

    width: int
    reason: str

    @property
    def mechanism(self) -> str:
        """``cp.async`` or ``copy``."""
        return "cp.async" if self.width else "copy"


def plan_copy(
    size: int, spaces: tuple[str, str], multiples: Mapping[str, int]
) -> CopyPlan:
    """The plan of a transfer on a GPU.

    ``size``: bytes of an element.  ``spaces``: of source and target.  ``multiples``:
    for each address and length, a number of bytes that surely divides it; 0 for zero.

    >>> both = {"source": 16, "target": 48, "count": 1024}
    >>> print(plan_copy(4, ("global", "shared"), both))
    CopyPlan(width=16, reason='every address and length is a multiple of 16 bytes')
    >>> plan_copy(2, ("global", "shared"), both | {"source": 2}).reason
    'the source is only known to be a multiple of 2 bytes'
    >>> plan_copy(4, ("shared", "global"), both).reason
    'cp.async goes from global to shared memory only, not from shared to global'
    """
    if spaces != (ASYNCHRONOUS_FROM, ASYNCHRONOUS_TO):
        source, target = spaces
        only = f"{ASYNCHRONOUS_FROM} to {ASYNCHRONOUS_TO}"
        reason = f"cp.async goes from {only} memory only, not from {source} to {target}"
        return CopyPlan(0, reason)
    common = gcd(*multiples.values())
    width = next((n for n in WIDTHS if n % size == 0 and common % n == 0), 0)
    if width == WIDTHS[0]:
        return CopyPlan(
            width, f"every address and length is a multiple of {width} bytes"
        )
    part, known = min(
        multiples.items(), key=lambda item: item[1] & -item[1] or WIDTHS[0]
    )
    return CopyPlan(
        width, f"the {part} is only known to be a multiple of {known} bytes"
    )


@dataclass(frozen=True, slots=True)
class PlannedTransfer:
    """How a ``dma_start`` or ``dma_wait`` is carried out.

    ``what``: the buffers, or the tag.  ``mechanism``: ``cp.async``, ``copy``, or
    ``wait_group`` for a wait that hardware copies may need.  ``width`` in bytes.
    """

    operation: str
    what: str
    mechanism: str
    reason: str
    width: int = 0
    location: Location | None = None

    def __str__(self) -> str:
        place = file_location(self.location) if self.location else None
        where = f"{place.filename}:{place.line}:{place.column}: " if place else ""
        width = f" of {self.width} bytes" if self.width else ""
        how = f"{self.mechanism}{width}; {self.reason}"
        return f"{where}{self.operation} {self.what}: {how}"
