"""Scalar replacement: values that iterations before stored are carried to their loads.

    for j in l..u {                  e = Y[j - 1] at l
      a = load Y[j - 1]         =>   for j in l..u iter_args(a = e) {
      store f(a), Y[j]                 store f(a), Y[j]
    }                                  yield f(a) }

Legal iff a load reads what the one store of the loop wrote k iterations before:

    place of the load at j = place of the store at j - k,

no place is stored twice, and nothing else in the loop stores to the buffer or to one
that may overlap it.  Loads of other places stay where they are.  The values of k = 1,
2, .. are handed on from one to the next, as far as each of them is loaded.  First
values are loaded in front of the loop, if it runs at all.  After Callahan, Carr and
Kennedy ("Improving register allocation for subscripted variables", 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Region, Value, substitute_values
from gpucodegen.passes.analysis.lifting.buffers.aliases import (
    Aliases,
    defined_functions,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.indexing import replace_values
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.loops.cells.carries import (
    CarriedStore,
    CarriedStores,
    InnermostLoop,
    buffer_of,
    innermost,
    place_of,
)

LOOPS = frozenset({"affine.for", "affine.parallel"})


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
        defined = defined_functions(module.functions.values())

        def rewrite(op: Operation) -> list[Operation]:
            carrier = _Carrier(CarriedStores(Aliases.of([op], defined)))
            return [with_blocks(op, carrier.operations)]

        return in_functions(module, rewrite)


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Rewrites one function."""

    carries: CarriedStores

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Operations with the innermost loops among and inside them rewritten."""
        return [new for op in operations for new in self._operation(op)]

    def _operation(self, op: Operation) -> list[Operation]:
        if not op.regions:
            return [op]
        loop = innermost(op)
        if loop is None:
            return [_outside(with_blocks(op, self.operations))]
        carries = self.carries.of(loop) if loop.repeats else []
        return _carried(loop, carries) if carries else [op]


def _outside(op: Operation) -> Operation:
    """A loop around nothing but a condition that it does not change: the other way."""
    inner = inner_operations(op) if op.name in LOOPS and not op.results else ()
    branch = inner[0] if len(inner) == 1 and inner[0].name == "affine.if" else None
    if branch is None or branch.results or branch.regions[1].blocks:
        return op
    block, taken = op.regions[0].blocks[0], branch.regions[0].blocks[0]
    if not set(block.arguments).isdisjoint(branch.operands):
        return op
    loop = op.with_(regions=(Region((block.with_operations(taken.operations),)),))
    body = (loop, affine.yield_(location=op.location))
    region = Region((taken.with_operations(body),))
    return branch.with_(regions=(region, branch.regions[1]))


def _carried(loop: InnermostLoop, carries: Sequence[CarriedStore]) -> list[Operation]:
    """The first loads, and the loop that carries what is loaded afterwards.

    A loop that passes nothing on is all that may not run.
    """
    b = Builder(loop.operation.location)

    def carried(b: Builder) -> None:
        b.operations += _with_values(b, loop, carries)

    if loop.operation.results:
        carried(b)
    else:
        b.guard(loop.runs, carried)
    return b.operations


def _with_values(
    b: Builder, loop: InnermostLoop, carries: Sequence[CarriedStore]
) -> list[Operation]:
    old = affine.For(loop.operation)
    first = [_first(b, loop, same[0]) for carry in carries for same in carry.loads]
    iters = [same[0].result for carry in carries for same in carry.loads]
    replaced = {
        op.result: same[0].result
        for carry in carries
        for same in carry.loads
        for op in same
    }
    *body, end = loop.operation.body.operations
    kept = [
        substitute_values(op, replaced)
        for op in body
        if not op.results or op.result not in replaced
    ]
    stored = [value for carry in carries for value in _handed_on(carry)]
    yielded = [replaced.get(value, value) for value in (*end.operands, *stored)]
    made = affine.for_(
        old.lower_map,
        old.lower_operands,
        old.upper_map,
        old.upper_operands,
        body=[*kept, affine.yield_(yielded, location=b.location)],
        iv=loop.iv,
        step=loop.step,
        inits=[*old.inits, *first],
        iters=[*old.iter_args, *iters],
        location=b.location,
    )
    results = (*loop.operation.results, *made.results[len(old.inits) :])
    attributes = {**loop.operation.attributes, **made.attributes}
    return [made.with_(attributes=attributes, results=results)]


def _first(b: Builder, loop: InnermostLoop, load: Operation) -> Value:
    """What a load finds in the first iteration, if there is one."""
    place = [replace_values(index, {loop.iv: loop.lower}) for index in place_of(load)]
    hint = load.result.name
    return b.choose(
        loop.runs if loop.operation.results else [],
        lambda b: b.load(buffer_of(load), place, hint),
        lambda b: b.constant(0, load.result.type),
        hint,
    )


def _handed_on(carry: CarriedStore) -> tuple[Value, ...]:
    """The value stored, and those that were carried but for the last."""
    return (carry.store.operands[0], *(same[0].result for same in carry.loads[:-1]))
