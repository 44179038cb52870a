"""Updates: a cell is loaded, something is made of it, and it is stored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, renamed
from gpucodegen.passes.prepare.affine.dead_code import is_pure

STORES = {"affine.load": "affine.store", "memref.load": "memref.store"}
"""The store that belongs to a load."""


@dataclass(frozen=True, slots=True)
class Update:
    """A load at position ``first`` of a list, and its store at position ``last``."""

    first: int
    last: int


def updates(operations: Sequence[Operation]) -> Iterator[Update]:
    """The updates in a list, one behind the other; nothing else is stored within one.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%c: memref<8xi32>, %k: index, %x: i32) {
    ...   %now = memref.load %c[%k] : memref<8xi32>
    ...   %next = arith.addi %now, %x : i32
    ...   memref.store %next, %c[%k] : memref<8xi32>
    ...   return
    ... }''')
    >>> list(updates(module.functions["f"].body.operations))
    [Update(first=0, last=2)]
    """
    numbers = _Numbers()
    loads: list[int] = []
    for position, op in enumerate(operations):
        if op.name in STORES:
            loads.append(position)
        if is_pure(op):
            numbers.count(op)
            continue
        cells = [
            n for n in loads if same_cell(numbers.of(operations[n]), numbers.of(op))
        ]
        if cells:
            yield Update(cells[-1], position)
        loads, numbers = [], _Numbers()


def same_cell(load: Operation, store: Operation) -> bool:
    """Whether a load and a store name the same cell by the same indices."""
    if STORES.get(load.name) != store.name or load.operands != store.operands[1:]:
        return False
    return load.dialect != "affine" or affine.Load(load).map == affine.Store(store).map


def in_same_place(load: Operation, store: Operation) -> Operation:
    """The store of an update by the values that are the indices of its load."""
    return store.with_(operands=(store.operands[0], *load.operands))


@dataclass(slots=True)
class _Numbers:
    """Which values are equal, as nothing is stored between the operations counted.

    Value numbering: what the same operation makes of equal values is equal.
    """

    first: dict[Value, Value] = field(default_factory=dict[Value, Value])
    known: dict[object, tuple[Value, ...]] = field(
        default_factory=dict[object, tuple[Value, ...]]
    )

    def of(self, op: Operation) -> Operation:
        """The operation on the first of equal values."""
        return renamed(op, self.first)

    def count(self, op: Operation) -> None:
        """Compare what an operation computes with what others did."""
        if op.regions:
            return
        said = frozenset((*op.attributes.items(), *op.properties.items()))
        types = tuple(value.type for value in op.results)
        key = (op.name, self.of(op).operands, said, types)
        same = self.known.setdefault(key, op.results)
        self.first.update(zip(op.results, same, strict=True))
