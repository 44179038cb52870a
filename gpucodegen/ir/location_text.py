"""Source locations as MLIR writes them, and as values of attributes."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.data.literals import quote
from gpucodegen.ir.locations import (
    CallSiteLoc,
    FileLoc,
    FusedLoc,
    Location,
    NameLoc,
    UnknownLoc,
)


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
