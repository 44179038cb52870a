"""Source locations: one on every operation, from the first token to generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.ir.attributes import Attribute


@dataclass(frozen=True, slots=True)
class FileLoc:
    """A point, or a range when ``end_line`` is set; lines and columns from 1."""

    filename: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class NameLoc:
    """``"name"`` or ``"name"(child)``."""

    name: str
    child: Location | None = None

    def __str__(self) -> str:
        return self.name if self.child is None else str(self.child)


@dataclass(frozen=True, slots=True)
class CallSiteLoc:
    """``callsite(callee at caller)``."""

    callee: Location
    caller: Location

    def __str__(self) -> str:
        return f"{self.callee} (called at {self.caller})"


@dataclass(frozen=True, slots=True)
class FusedLoc:
    """``fused<metadata>[locations]``."""

    locations: tuple[Location, ...]
    metadata: Attribute | None = None

    def __str__(self) -> str:
        return str(self.locations[0]) if self.locations else "unknown"


@dataclass(frozen=True, slots=True)
class UnknownLoc:
    """No source position, e.g. IR made by a user's program."""

    def __str__(self) -> str:
        return "unknown"


Location = FileLoc | NameLoc | CallSiteLoc | FusedLoc | UnknownLoc

UNKNOWN = UnknownLoc()


def file_location(loc: Location) -> FileLoc | None:
    """The first file position inside a location, if there is one."""
    match loc:
        case FileLoc():
            return loc
        case NameLoc(_, child):
            return None if child is None else file_location(child)
        case CallSiteLoc(callee, caller):
            return file_location(callee) or file_location(caller)
        case FusedLoc(locations):
            return next(filter(None, map(file_location, locations)), None)
        case UnknownLoc():
            return None
