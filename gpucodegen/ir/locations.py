"""Source locations: one on every operation, from the first token to generated code."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.literals import quote


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


def location_text(location: Location) -> str:
    """Text of a location inside ``loc(..)``."""
    match location:
        case FileLoc(filename, line, column):
            return f"{quote(filename)}:{line}:{column}{_range_end(location)}"
        case NameLoc(name, None):
            return quote(name)
        case NameLoc(name, child):
            return f"{quote(name)}({location_text(child)})" if child else quote(name)
        case CallSiteLoc(callee, caller):
            return f"callsite({location_text(callee)} at {location_text(caller)})"
        case FusedLoc(locations, metadata):
            tag = f"<{metadata}>" if metadata is not None else ""
            return f"fused{tag}[{', '.join(map(location_text, locations))}]"
        case UnknownLoc():
            return "unknown"


def _range_end(location: FileLoc) -> str:
    if not location.end_line:
        return ""
    is_same = location.end_line == location.line
    return f" to {'' if is_same else location.end_line}:{location.end_column}"


@dataclass(frozen=True, slots=True)
class LocationAttr(Attribute):
    """``loc(..)`` as a value."""

    location: Location

    def __str__(self) -> str:
        return f"loc({location_text(self.location)})"
