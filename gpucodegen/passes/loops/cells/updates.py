"""Updates: a cell is loaded, something is made of it, and it is stored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
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
    loads: dict[int, Operation] = {}
    for position, op in enumerate(operations):
        if op.name in STORES:
            loads[position] = op
        elif not is_pure(op):
            same = [n for n, load in loads.items() if same_cell(load, op)]
            if same:
                yield Update(same[-1], position)
            loads.clear()


def same_cell(load: Operation, store: Operation) -> bool:
    """Whether a load and a store name the same cell by the same indices."""
    if STORES.get(load.name) != store.name or load.operands != store.operands[1:]:
        return False
    return load.dialect != "affine" or affine.Load(load).map == affine.Store(store).map
