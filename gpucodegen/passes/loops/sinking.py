"""Perfect nests of parallel loops: what stands between two moves into the inner one.

    for i { x = A[i]; for j { B[i, j] = x } }  =>  for i { for j { x = A[i]; .. } }

A GPU maps the loops of a perfect nest to its threads, so that neighbours touch
neighbouring elements; of another nest, each thread runs the inner loop by itself.

Theorem: the operations before the inner loop may be repeated in each of its iterations
if they have no effects and no iteration stores what one of them loads.  Operations
without effects give the same results.  A load stands before all stores of the inner
loop in its iteration of the outer one, and behind all of earlier iterations; both stay
true but for the stores of the same iteration, which must not touch its element: no
dependence leads from the load into the loop.  Accesses of slices become accesses of
their buffers, so that no view is made in the innermost loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import (
    has_no_effect,
    in_functions,
    with_blocks,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.loops.slices import through_views
from gpucodegen.passes.nests.loop_names import FOR, bound_values
from gpucodegen.records import dataclass

LOADS = frozenset({"affine.load", "memref.load"})
MOST_WORK = 16
"""Arithmetic that each iteration may repeat.  An H100 (3.35 TB/s, 132 x 128 lanes at
1.76 GHz) computes 70 operations in the time in which it moves 8 bytes."""
SLOW = 8
"""What a division or a function counts for."""


@dataclass(frozen=True, slots=True)
class SinkIntoLoops(ModulePass):
    """Make nests of two parallel loops perfect.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<64xf32>, %B: memref<64x32xf32>) {
    ...   affine.for %i = 0 to 64 {
    ...     %x = affine.load %A[%i] : memref<64xf32>
    ...     affine.for %j = 0 to 32 {
    ...       affine.store %x, %B[%i, %j] : memref<64x32xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> (nest, _) = SinkIntoLoops().apply(module).functions["f"].body.operations
    >>> [op.name for op in inner_operations(nest)]
    ['affine.for']
    """

    name: ClassVar[str] = "sink-into-loops"
    looks_for: ClassVar[frozenset[str]] = frozenset({FOR})

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def block(operations: Sequence[Operation]) -> list[Operation]:
            made: list[Operation] = []
            for op in operations:
                if any(map(_between, op.walk())):
                    found = analyse([op], made, surroundings, fine=True)
                    made.append(_Sinking(found).operation(op, op, frozenset()))
                else:
                    made.append(op)
            return made

        return in_functions(module, lambda op: [with_blocks(op, block)])


def _between(op: Operation) -> tuple[Operation, ...]:
    """The operations before the only loop of a loop, if all may be repeated."""
    if op.name != FOR or op.results:
        return ()
    *before, last = inner_operations(op) or (op,)
    if not before or last.name != FOR or last.results:
        return ()
    needed = {*bound_values(last)}
    can_move = all(
        (op.name in LOADS or has_no_effect(op)) and needed.isdisjoint(op.results)
        for op in before
    )
    return tuple(before) if can_move and _work(before) <= MOST_WORK else ()


@dataclass(frozen=True, slots=True)
class _Sinking:
    found: NestAnalysis

    def operation(
        self, op: Operation, origin: Operation, around: frozenset[Value]
    ) -> Operation:
        """The operation with the nests in it made perfect, the outer loops first.

        ``origin``: the operation that the analysis knows.
        ``around``: the variables of loops.
        """
        around |= frozenset(op.body.arguments[:1] if op.name == FOR else ())
        inner = self._filled(op, origin, around)
        if inner is not None:
            known = inner_operations(origin)[-1]
            end = affine.yield_(location=op.location)
            return op.with_body((self.operation(inner, known, around), end))
        if not op.regions:
            return op
        return with_blocks(op, lambda os: [self.operation(o, o, around) for o in os])

    def _filled(
        self, op: Operation, origin: Operation, around: frozenset[Value]
    ) -> Operation | None:
        """The inner loop with what stands before it, if it may."""
        before = _between(op)
        if not before:
            return None
        inner, known = inner_operations(op)[-1], inner_operations(origin)[-1]
        loads = [o for o in before if o.name in LOADS]
        is_parallel = self.found.is_parallel(origin) and self.found.is_parallel(known)
        if not is_parallel or self.found.conflicts(loads, [known]):
            return None
        made = [(value, o) for o in before for value in o.results]
        views = {value: o for value, o in made if isinstance(value.type, MemRefType)}
        kept = [o for o in before if views.keys().isdisjoint(o.results)]
        body = [*kept, *inner.body.operations]
        names = {"affine.apply", "arith.constant"}
        indices = around | {value for value, o in made if o.name in names}
        return through_views(views, inner.with_body(body), indices)


def _work(operations: Sequence[Operation]) -> int:
    plain = [o for o in operations if o.dialect in {"arith", "math", "complex"}]
    return sum(SLOW if _is_slow(op) else 1 for op in plain)


def _is_slow(op: Operation) -> bool:
    return op.dialect == "math" or "div" in op.name or "rem" in op.name
