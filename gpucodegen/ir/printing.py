"""Names of values and blocks for printing, and source locations as text.

Name hints are kept where they are unique among the visible names; values without a hint
are numbered. A name ends with the region that defines it, so sibling regions may reuse
it. Names that occur in verbatim text of unregistered operations are not reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.literals import quote
from gpucodegen.ir.locations import (
    CallSiteLoc,
    FileLoc,
    FusedLoc,
    Location,
    NameLoc,
    UnknownLoc,
)
from gpucodegen.ir.operation import Block, Label, Operation, Region, Value
from gpucodegen.records import dataclass

Predicate = Callable[[Operation], bool]


class Names:
    """Names of everything inside one operation.

    ``isolated`` tells operations whose regions see no outer names, ``graph`` those
    whose regions may use a value before its definition; ``reserved`` names are never
    assigned.
    """

    __slots__ = (
        "_counter",
        "_graph",
        "_isolated",
        "_reserved",
        "_used",
        "labels",
        "values",
    )

    def __init__(
        self,
        op: Operation,
        isolated: Predicate,
        graph: Predicate,
        reserved: Iterable[str] = (),
    ) -> None:
        self._isolated, self._graph = isolated, graph
        self._reserved = frozenset(reserved)
        self._used: set[str] = set()
        self._counter = 0
        self.values: dict[Value, str] = {}
        self.labels: dict[Label, str] = {}
        self._operation(op)

    def of(self, value: Value) -> str:
        """Name of a value with its percent sign; invented if it has no definition."""
        name = self.values.get(value)
        if name is None:
            name = self.values[value] = f"%{self._fresh(value.name)}"
        return name

    def label_of(self, label: Label) -> str:
        """Name of a block, caret included."""
        return self.labels.get(label) or f"^{label.name or 'unknown'}"

    # -- assignment --------------------------------------------------------------------

    def _operation(self, op: Operation) -> None:
        self._results(op.results)
        self._regions(op)

    def _regions(self, op: Operation) -> None:
        if not op.regions:
            return
        outer = self._used, self._counter
        if self._isolated(op):
            self._used, self._counter = set(), 0
        is_graph = self._graph(op)
        for region in op.regions:
            self._region(region, is_graph=is_graph)
        self._used, self._counter = outer

    def _region(self, region: Region, *, is_graph: bool) -> None:
        used, counter = self._used, self._counter
        self._used = set(used)
        blocks = region.blocks
        for i, block in enumerate(blocks):
            if block.label is not None:
                self.labels[block.label] = f"^bb{i}"
        if is_graph or len(blocks) > 1:  # nested text may stand before a definition
            for block in blocks:
                self._block_values(block)
            for block in blocks:
                for op in block.operations:
                    self._regions(op)
        elif blocks:
            for argument in blocks[0].arguments:
                self._value(argument)
            for op in blocks[0].operations:
                self._operation(op)
        self._used, self._counter = used, counter

    def _block_values(self, block: Block) -> None:
        for argument in block.arguments:
            self._value(argument)
        for op in block.operations:
            self._results(op.results)

    def _results(self, results: Sequence[Value]) -> None:
        if len(results) > 1 and len({value.name for value in results}) == 1:
            base = self._fresh(results[0].name)
            for i, value in enumerate(results):
                self.values[value] = f"%{base}#{i}"
            return
        for value in results:
            self._value(value)

    def _value(self, value: Value) -> None:
        self.values[value] = f"%{self._fresh(value.name)}"

    def _fresh(self, hint: str) -> str:
        if not hint or hint[0].isdigit():
            while str(self._counter) in self._reserved:
                self._counter += 1
            name = str(self._counter)
            self._counter += 1
            return name
        name = hint
        if self._is_taken(name):
            name = next(n for i in count() if not self._is_taken(n := f"{hint}_{i}"))
        self._used.add(name)
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._used or name in self._reserved


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
