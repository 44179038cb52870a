"""Counts the operations that write to a buffer of a translated function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from gpucodegen.dialects import linalg
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.records import dataclass

VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "cast collapse_shape expand_shape extract_strided_metadata reinterpret_cast"
        " subview transpose"
    ).split()
)
READS = frozenset({"memref.load", "memref.dim", "func.return"})


def writes(operations: Iterable[Operation], buffer: Value) -> int:
    """How many operations may write to a buffer, or pass it on."""
    shown, found = {buffer}, 0
    for root in operations:
        for op in root.walk():
            if shown.isdisjoint(op.operands):
                continue
            if op.name in VIEWS:
                shown.update(op.results)
            elif op.dialect == "linalg":
                found += not shown.isdisjoint(linalg.Structured(op).outputs)
            elif op.name not in READS:
                found += 1
    return found


@dataclass(slots=True)
class Buffers:
    """The buffers of one function, with the inlined ones.

    ``expected``: operations that write to each, and ``loops``: the loop of each;
    ``carrying``: loops that carry references.
    """

    carrying: set[object] = field(default_factory=set[object])
    expected: dict[Value, int] = field(default_factory=dict[Value, int])
    loops: dict[Value, object] = field(default_factory=dict[Value, object])

    def shared(self, operations: Sequence[Operation]) -> set[object]:
        """The loops with a buffer that something else writes to."""
        return {
            self.loops[buffer]
            for buffer, count in self.expected.items()
            if writes(operations, buffer) > count
        }
