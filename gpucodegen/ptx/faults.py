"""Errors of the emulator: faults of kernels, unsupported PTX, exhausted memory."""

from __future__ import annotations

from typing import NamedTuple

from gpucodegen.records import dataclass

Place = tuple[int, int, int]
"""Coordinates of a block in its grid, or of a thread in its block."""


class SourceLocation(NamedTuple):
    """The source location of a ``.loc`` line; column 0 is unknown."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"


class Problem(NamedTuple):
    """One instruction that cannot be translated."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text} ({self.reason})"


class Unsupported(NotImplementedError):
    """PTX that this package cannot execute; ``problems`` names every such line."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class OutOfMemory(MemoryError):
    """No gap of the device memory is large enough."""

    def __init__(self, nbytes: int, limit: int) -> None:
        super().__init__(f"no room for {nbytes} bytes in a memory of {limit} bytes")
        self.nbytes, self.limit = nbytes, limit


@dataclass(slots=True, eq=False)
class Fault(Exception):
    """An error of a kernel that crashes a device, or makes its results undefined.

    ``kind`` is one of the words of `KINDS`; ``line`` counts in the PTX text; the block
    and the thread are the first that met the problem.
    """

    kind: str
    message: str
    kernel: str = ""
    line: int = 0
    location: SourceLocation | None = None
    block: Place | None = None
    thread: Place | None = None
    instruction: str = ""

    def __str__(self) -> str:
        return f"{self.kernel}: {self.details}" if self.kernel else self.details

    @property
    def details(self) -> str:
        """The error and its place, without the name of the kernel."""
        parts = [self.message]
        if self.block is not None:
            parts.append(f"block {self.block} thread {self.thread}")
        if self.line:
            source = f", {self.location}" if self.location else ""
            parts.append(f"PTX line {self.line}{source}: {self.instruction}")
        return "; ".join(parts)


OUT_OF_BOUNDS = "out of bounds"
MISALIGNED = "misaligned"
RACE = "race"
DIVERGENT_BARRIER = "divergent barrier"
UNINITIALISED = "uninitialised"
IN_FLIGHT = "copy in flight"
DEADLOCK = "deadlock"
ENDLESS_LOOP = "endless loop"
INCOMPLETE_WARP = "incomplete warp"
MBARRIER = "mbarrier"
TRAP = "trap"

KINDS = (
    OUT_OF_BOUNDS,
    MISALIGNED,
    RACE,
    DIVERGENT_BARRIER,
    UNINITIALISED,
    IN_FLIGHT,
    DEADLOCK,
    ENDLESS_LOOP,
    INCOMPLETE_WARP,
    MBARRIER,
    TRAP,
)
