"""Counts the operations that write to a buffer of a translated function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from gpucodegen.dialects import linalg
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.records import dataclass

VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "cast collapse_shape expand_shape extract_strided_metadata reinterpret_cast"
        " subview transpose"
    ).split()
)
COPY = "memref.copy"
READS = frozenset({"memref.load", "memref.dim", "func.return"})
READS_AND_CALLS = READS | {COPY, "gcg.handle"}
"""Handlers of NumPy's functions only read, and copies but for their target."""


def writes(
    operations: Iterable[Operation],
    buffer: Value,
    others: Iterable[Value] = (),
    *,
    reads: frozenset[str] = READS,
) -> int:
    """How many operations may write to a buffer, or pass it on.

    ``others``: values that show it in front of the operations.  ``reads``: those that
    only read, and of which a copy counts where it goes to the buffer.
    """
    shown, found = {buffer, *others}, 0
    for root in operations:
        for op in root.walk():
            if shown.isdisjoint(op.operands):
                continue
            if op.name in VIEWS:
                shown.update(op.results)
            elif op.dialect == "linalg":
                found += not shown.isdisjoint(linalg.Structured(op).outputs)
            elif op.name not in reads or (op.name == COPY and op.operands[1] in shown):
                found += 1
    return found


def _aliases(operations: Sequence[Operation], buffer: Value) -> set[Value]:
    """Values that may show a buffer: all memrefs of operations that it reaches."""
    shown, before = {buffer}, 0
    while len(shown) > before:
        before = len(shown)
        for op in (op for root in operations for op in root.walk()):
            if any(v in shown for inner in op.walk() for v in inner.operands):
                made = op.defined
                shown.update(v for v in made if isinstance(v.type, MemRefType))
    return shown


def _after(
    operations: Sequence[Operation], buffer: Value, root: Value
) -> Iterator[Operation]:
    """What may run after the allocation of a buffer while the root is the same one.

    That is what follows, and all of a loop around both but not around the root.
    """
    for n, op in enumerate(operations):
        nested = [*op.walk()]
        if not any(buffer in inner.results for inner in nested):
            continue
        made = (v for inner in nested for v in inner.defined)
        if op.regions and op.name != "scf.if" and root not in made:
            yield op
        else:
            for block in op.blocks:
                yield from _after(block.operations, buffer, root)
        yield from operations[n + 1 :]


@dataclass(slots=True)
class Buffers:
    """The buffers of one function, with the inlined ones.

    ``expected``: operations that write to each, and ``loops``: the loop of each;
    ``carrying``: loops that carry references.  ``initial``: where another variable may
    refer to the array whose elements a buffer got, the roots of that array.  ``free``:
    buffers in place of an array that nothing else refers to, so any write may be there.
    ``wholes``: the buffers whose first rows are an array that a loop makes smaller.
    """

    carrying: set[object] = field(default_factory=set[object])
    expected: dict[Value, int] = field(default_factory=dict[Value, int])
    initial: dict[Value, frozenset[object]] = field(
        default_factory=dict[Value, frozenset[object]]
    )
    loops: dict[Value, object] = field(default_factory=dict[Value, object])
    free: set[Value] = field(default_factory=set[Value])
    wholes: dict[Value, Any] = field(default_factory=dict[Value, Any])

    def shared(self, operations: Sequence[Operation]) -> set[object]:
        """The loops with a buffer that something else writes to, or to its origin."""
        return {
            self.loops[buffer]
            for buffer, count in self.expected.items()
            if (buffer not in self.free and writes(operations, buffer) > count)
            or any(
                _is_written(operations, buffer, root)
                for root in self.initial.get(buffer, ())
            )
        }


def _is_written(operations: Sequence[Operation], buffer: Value, root: object) -> bool:
    """Whether an array may be written to after a buffer got its elements."""
    if not isinstance(root, Value):
        return True
    after = _after(operations, buffer, root)
    return writes(after, root, _aliases(operations, root)) > 0
