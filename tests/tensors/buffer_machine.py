"""Executes bufferized programs on NumPy arrays, one operation after the other.

Fresh and freed buffers hold rubbish, so that reads before a write and after the end of
a buffer show.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen.dialects import linalg, memref
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.dialects.scf.syntax import BOUNDS
from gpucodegen.ir.attributes import DenseElementsAttr, IntegerAttr
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import MemRefType

RUBBISH = 77_777_777
SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.xori": operator.xor,
    "arith.maxsi": max,
}
COMPARISONS = {2: operator.lt, 4: operator.gt}


class BufferMachine:
    """Values of one run; ``copied`` counts whole buffers that were copied."""

    def __init__(self, constants: dict[str, np.ndarray]) -> None:
        self.values: dict[Value, Any] = {}
        self.constants = constants
        self.place: tuple[int, ...] = ()
        self.copied = 0

    def run(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        """Execute a block; what its end passes on."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        for op in block.operations:
            if op is block.operations[-1]:
                return [self.values[v] for v in op.operands]
            self.one(op)
        raise AssertionError

    def one(self, op: Operation) -> None:
        given = [self.values[v] for v in op.operands]
        if op.name in SCALARS:
            with np.errstate(over="ignore"):
                made = SCALARS[op.name](*given)
            self.values[op.result] = made
        elif op.name == "arith.cmpi":
            self.values[op.result] = COMPARISONS[op.integer("predicate")](*given)
        else:
            getattr(self, op.name.replace(".", "_"))(op, given)

    def entry(self, entries: Sequence[memref.Mixed]) -> list[int]:
        return [e if isinstance(e, int) else int(self.values[e]) for e in entries]

    def arith_constant(self, op: Operation, _given: list[Any]) -> None:
        value = op.attributes["value"]
        assert isinstance(value, IntegerAttr)
        is_index = str(op.result.type) == "index"
        self.values[op.result] = value.value if is_index else np.int32(value.value)

    def memref_alloc(self, op: Operation, _given: list[Any]) -> None:
        ty = op.result.type
        assert isinstance(ty, MemRefType)
        self.values[op.result] = np.full(ty.shape, RUBBISH, "i4")

    def memref_dealloc(self, _op: Operation, given: list[Any]) -> None:
        given[0][...] = RUBBISH

    def memref_copy(self, _op: Operation, given: list[Any]) -> None:
        assert given[0].shape == given[1].shape
        self.copied += 1
        given[1][...] = given[0]

    def memref_get_global(self, op: Operation, _given: list[Any]) -> None:
        self.values[op.result] = self.constants[str(op.attributes["name"])]

    def memref_load(self, op: Operation, given: list[Any]) -> None:
        self.values[op.result] = given[0][tuple(map(int, given[1:]))]

    def memref_store(self, _op: Operation, given: list[Any]) -> None:
        given[1][tuple(map(int, given[2:]))] = given[0]

    def memref_subview(self, op: Operation, given: list[Any]) -> None:
        part = memref.Slice(op)
        columns = map(self.entry, (part.offsets, part.sizes, part.strides))
        where = tuple(
            slice(start, start + (size - 1) * step + 1, step)
            for start, size, step in zip(*columns, strict=True)
        )
        self.values[op.result] = given[0][where]

    def memref_expand_shape(self, op: Operation, given: list[Any]) -> None:
        self.reshaped(op, given[0])

    def memref_collapse_shape(self, op: Operation, given: list[Any]) -> None:
        assert groups_of(op.attributes["reassociation"])
        self.reshaped(op, given[0])

    def reshaped(self, op: Operation, array: np.ndarray) -> None:
        ty = op.result.type
        assert isinstance(ty, MemRefType)
        view = array.view()
        view.shape = tuple(n or 0 for n in ty.shape)
        self.values[op.result] = view

    def affine_apply(self, op: Operation, given: list[Any]) -> None:
        map_ = op.attributes["map"].map  # type: ignore[attr-defined]
        numbers = tuple(map(int, given))
        (value,) = map_.evaluate(numbers[: map_.num_dims], numbers[map_.num_dims :])
        self.values[op.result] = value

    def linalg_index(self, op: Operation, _given: list[Any]) -> None:
        self.values[op.result] = self.place[op.integer("dim")]

    def linalg_generic(self, op: Operation, given: list[Any]) -> None:
        view = linalg.Structured(op)
        maps = view.indexing_maps
        inputs, first = len(view.inputs), len(view.inputs)
        shape = given[first].shape
        for self.place in np.ndindex(*shape):
            at = [map_.evaluate(self.place, ()) for map_ in maps]
            elements = [
                array[place] if isinstance(array, np.ndarray) else array
                for array, place in zip(given, at, strict=True)
            ]
            made = self.run(view.body, elements)
            for target, place, value in zip(
                given[inputs:], at[inputs:], made, strict=True
            ):
                target[place] = value

    def scf_for(self, op: Operation, given: list[Any]) -> None:
        for k in range(*map(int, given[:3])):
            self.run(op.body, [k])

    def scf_if(self, op: Operation, given: list[Any]) -> None:
        self.run(op.regions[0 if given[0] else 1].blocks[0])

    def scf_while(self, op: Operation, given: list[Any]) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        while True:
            go, *passed = self.run(before, given)
            if not go:
                break
            given = self.run(after, passed)
        self.values.update(zip(op.results, passed, strict=True))

    def scf_forall(self, op: Operation, _given: list[Any]) -> None:
        (low,), (high,), (step,) = (op.numbers(name) for name in BOUNDS)
        for k in range(low, high, step):
            self.run(op.body, [k])


def constants_of(operations: Sequence[Operation]) -> dict[str, np.ndarray]:
    """The arrays of ``memref.global`` operations, by their references."""
    found: dict[str, np.ndarray] = {}
    for op in operations:
        value = op.attributes.get("initial_value")
        if isinstance(value, DenseElementsAttr):
            found[f"@{op.string('sym_name')}"] = np.array(value.values, "i4")
    return found
