"""How each transfer of a program is carried out, as the text is written.

`gpucodegen.dialects.nvgpu.copy_kinds` decides; what is kept here is what
`gpucodegen.program.Program.transfers` and the report show.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.locations import Location, file_location


@dataclass(frozen=True, slots=True)
class PlannedTransfer:
    """How a ``dma_start``, a ``dma_wait``, a product of tiles or an update is done.

    ``what``: the buffers, or the tag.  ``mechanism``: ``cp.async``, ``copy``, or
    ``wait_group`` for a wait that hardware copies may need; for a product, what
    multiplies, such as ``mma.sync m16n8k16``; for atomic updates, where they meet.
    ``width``: bytes of each access.  ``groups``: how many groups of transfers may be
    under way when a start has closed its own, or when a wait is over; 0 where none can
    be.
    """

    operation: str
    what: str
    mechanism: str
    reason: str
    width: int = 0
    location: Location | None = None
    groups: int = 0

    @property
    def how(self) -> str:
        """Mechanism, width, groups and reason in words.

        >>> start = PlannedTransfer("dma_start", "%a to %b", "cp.async", "why", 16)
        >>> start.how
        'cp.async of 16 bytes; why'
        """
        width = f" of {self.width} bytes" if self.width else ""
        plural = "s" * (self.groups != 1)
        groups = f", up to {self.groups} group{plural} in flight" if self.groups else ""
        return f"{self.mechanism}{width}{groups}; {self.reason}"

    def __str__(self) -> str:
        place = file_location(self.location) if self.location else None
        where = f"{place.filename}:{place.line}:{place.column}: " if place else ""
        return f"{where}{self.operation} {self.what}: {self.how}"
