"""Scalar replacement: a value that the iteration before stored is carried to its load.

    for j in l..u {                  e = Y[j - 1] at l
      a = load Y[j - 1]         =>   for j in l..u iter_args(a = e) {
      store f(a), Y[j]                 store f(a), Y[j]
    }                                  yield f(a) }

Legal iff the load reads what the one store of the loop wrote an iteration before:

    place of the load at j = place of the store at j - 1,

no place is stored twice, and nothing else in the loop stores to the buffer or to one
that may overlap it.  The loop must run at least once, since the first value is loaded
in front of it.  After Callahan, Carr and Kennedy ("Improving register allocation for
subscripted variables", 1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation, Region, Value, substitute_values
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.operands import coefficients, is_linear
from gpucodegen.passes.dead_code import has_no_effect
from gpucodegen.passes.functions import in_functions, with_blocks
from gpucodegen.passes.indexing import Index, compact, from_map, replace_values
from gpucodegen.passes.lifting.surroundings import grouped
from gpucodegen.passes.nests import Axis, axis_of, inner_operations

ACCESSES = frozenset({"affine.load", "affine.store"})


@dataclass(frozen=True, slots=True)
class CarryStores(ModulePass):
    """Carry what innermost loops store to the loads of their next iteration.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {
    ...   affine.for %j = 1 to 9 {
    ...     %a = affine.load %y[%j - 1] : memref<9xf32>
    ...     %v = affine.load %x[%j] : memref<9xf32>
    ...     %r = arith.addf %a, %v : f32
    ...     affine.store %r, %y[%j] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(CarryStores().apply(module))
    module {
      func.func @f(%x: memref<9xf32>, %y: memref<9xf32>) {
        %a = affine.load %y[0] : memref<9xf32>
        %a_0 = affine.for %j = 1 to 9 iter_args(%a_1 = %a) -> (f32) {
          %v = affine.load %x[%j] : memref<9xf32>
          %r = arith.addf %a_1, %v : f32
          affine.store %r, %y[%j] : memref<9xf32>
          affine.yield %r : f32
        }
        return
      }
    }
    """

    name: ClassVar[str] = "carry-stores"

    def apply(self, module: Module) -> Module:
        """Rewrite every function."""

        def rewrite(op: Operation) -> list[Operation]:
            made_by = {value: inner for inner in op.walk() for value in inner.results}
            carrier = _Carrier(made_by, grouped(op))
            return [with_blocks(op, carrier.operations)]

        return in_functions(module, rewrite)


@dataclass(frozen=True, slots=True)
class _Carry:
    """A store, and the loads that read what it stored an iteration before."""

    store: Operation
    loads: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Rewrites one function; ``groups`` of its arguments may overlap."""

    made_by: Mapping[Value, Operation]
    groups: Mapping[Value, Attribute]

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Operations with the innermost loops among and inside them rewritten."""
        return [new for op in operations for new in self._operation(op)]

    def _operation(self, op: Operation) -> list[Operation]:
        if not op.regions:
            return [op]
        axis = axis_of(op)
        if axis is None or any(inner.regions for inner in inner_operations(op)):
            return [self._inside(op)]
        carries = self._carries(axis) if axis.extent > 1 else []
        return _carried(axis, carries) if carries else [op]

    def _inside(self, op: Operation) -> Operation:
        regions = tuple(
            Region(
                tuple(
                    block.with_operations(self.operations(block.operations))
                    for block in region.blocks
                )
            )
            for region in op.regions
        )
        return op.with_(regions=regions)

    def _carries(self, axis: Axis) -> list[_Carry]:
        operations = inner_operations(axis.operation)
        accesses = [op for op in operations if op.name in ACCESSES]
        rest = [op for op in operations if op.name not in ACCESSES]
        if not all(map(has_no_effect, rest)):
            return []
        stores = [op for op in accesses if not op.results]
        found = (self._carry(axis, store, accesses) for store in stores)
        return [carry for carry in found if carry]

    def _carry(
        self, axis: Axis, store: Operation, accesses: Sequence[Operation]
    ) -> _Carry | None:
        """The loads of what a store leaves, if nothing else touches its buffer."""
        near = [op for op in accesses if op is not store and self._overlap(op, store)]
        before = [
            replace_values(index, {axis.iv: Index.of(axis.iv) - axis.step})
            for index in _place(store)
        ]
        is_own = all(
            op.results and _buffer(op) is _buffer(store) and _same(_place(op), before)
            for op in near
        )
        return (
            _Carry(store, tuple(near))
            if near and is_own and _moves(store, axis)
            else None
        )

    def _overlap(self, first: Operation, second: Operation) -> bool:
        a, b = self._root(_buffer(first)), self._root(_buffer(second))
        return a is b or (a in self.groups and b in self.groups)

    def _root(self, buffer: Value) -> Value:
        """The buffer that a view shows."""
        made_by = self.made_by.get(buffer)
        is_view = made_by is not None and made_by.operands and made_by.results
        if not is_view or made_by is None or "alloc" in made_by.name:
            return buffer
        return self._root(made_by.operands[0])


def _buffer(access: Operation) -> Value:
    return access.operands[0 if access.results else 1]


def _place(access: Operation) -> list[Index]:
    view = affine.Load(access) if access.results else affine.Store(access)
    return from_map(view.map, view.map_operands)


def _same(first: Sequence[Index], second: Sequence[Index]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(compact(a - b).constant == 0 for a, b in pairs)


def _moves(store: Operation, axis: Axis) -> bool:
    """Whether each iteration stores to another place, known before the loop."""
    made = {v for op in inner_operations(axis.operation) for v in op.results}
    place = _place(store)
    known = all(made.isdisjoint(index.values) for index in place)
    return known and any(
        is_linear(index) and coefficients(index).get(axis.iv, 0) for index in place
    )


def _carried(axis: Axis, carries: Sequence[_Carry]) -> list[Operation]:
    """The first loads, and the loop that carries what is loaded afterwards."""
    b, loop = Builder(axis.operation.location), affine.For(axis.operation)
    first = {axis.iv: Index.of(axis.lower)}
    inits: list[Value] = []
    for carry in carries:
        load = carry.loads[0]
        place = [replace_values(index, first) for index in _place(load)]
        inits.append(b.load(_buffer(load), place, load.result.name))
    iters = [carry.loads[0].result for carry in carries]
    same = {op.result: c.loads[0].result for c in carries for op in c.loads[1:]}
    gone = {op for carry in carries for op in carry.loads}
    body = [
        substitute_values(op, same)
        for op in inner_operations(axis.operation)
        if op not in gone
    ]
    stored = [same.get(v, v) for v in (carry.store.operands[0] for carry in carries)]
    made = affine.for_(
        loop.lower_map,
        loop.lower_operands,
        loop.upper_map,
        loop.upper_operands,
        body=[*body, affine.yield_(stored, location=b.location)],
        iv=axis.iv,
        step=axis.step,
        inits=inits,
        iters=iters,
        location=b.location,
    )
    attributes = {**axis.operation.attributes, **made.attributes}
    return [*b.operations, made.with_(attributes=attributes)]
