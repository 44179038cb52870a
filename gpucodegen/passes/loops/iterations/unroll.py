"""Unrolling: several iterations in one, the rest in a loop of their own.

Always legal: the iterations run in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.loops.framework.naming import Site, with_suffix
from gpucodegen.passes.loops.framework.ranges import LoopRange, with_range
from gpucodegen.passes.loops.framework.replacement import (
    Replacement,
    in_sequence,
    with_single_bounds,
)
from gpucodegen.passes.loops.framework.rewriting import (
    chosen_loops,
    is_innermost,
    rewrite_loops,
)


@dataclass(frozen=True, slots=True)
class Unroll(ModulePass):
    """Write ``factor`` iterations out, all of them for 0; default: innermost loops.

    >>> import gpucodegen as gcg
    >>> print(Unroll(factor=2).apply(gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %v: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.store %v, %A[%i] : memref<9xf32>
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @f(%A: memref<9xf32>, %v: f32) {
        affine.for %i = 0 to 8 step 2 {
          affine.store %v, %A[%i] : memref<9xf32>
          %i_0 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
          affine.store %v, %A[%i_0] : memref<9xf32>
        }
        affine.for %i = 8 to 9 {
          affine.store %v, %A[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "unroll"
    factor: int = 4
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Unroll the chosen loops."""
        check_factor(self.name, self.factor, least=0)
        chosen = chosen_loops(module, self.function, self.loop, is_innermost)
        return rewrite_loops(module, chosen, self._transform)

    def _transform(self, site: Site, op: Operation) -> Replacement:
        del site
        if self.factor == 1:
            return in_sequence(op, [op])
        return with_single_bounds(op, self._unrolled)

    def _unrolled(self, op: Operation, given: LoopRange) -> Replacement:
        if self.factor == 0:
            return _written_out(op, given)
        main, rest = divided(given, self.factor)
        loops: list[Operation] = []
        if main is not None:
            copy = with_range(clone(op), main)
            loops.append(_repeated(copy, given.step, self.factor))
        if rest is not None:
            loops.append(with_suffix(with_range(clone(op), rest), "rest"))
        return in_sequence(op, loops)


def check_factor(name: str, factor: int, *, least: int) -> None:
    """Refuse factors below ``least``."""
    if factor < least:
        raise errors.InvalidPassOption(
            name=name,
            problem=f"option 'factor' cannot be {factor}",
            hint=f"Give a number from {least}",
        )


def divided(given: LoopRange, factor: int) -> tuple[LoopRange | None, LoopRange | None]:
    """Whole groups of ``factor`` iterations, and the rest; None: surely empty.

    With t trips:  [lower, split) and [max(lower, split), upper),
    split = lower + step * factor * floor(t / factor).  Below 0 trips split lies below
    lower: the main loop does not run, and the rest must not begin there.
    """
    trips = given.trips.constant
    split = given.after(given.trips // factor * factor)
    main = LoopRange(given.lowers, (split,), given.step * factor)
    rest = given.starting(split)
    if trips is None:
        return main, rest
    has_main, has_rest = trips >= factor, trips > 0 and trips % factor > 0
    return main if has_main else None, rest if has_rest else None


def _repeated(op: Operation, step: int, factor: int) -> Operation:
    """The body ``factor`` times, ``step`` apart, carried values handed on."""
    loop = affine.For(op)
    build = Builder(op.location)
    build.operations += loop.body[:-1]
    values = loop.yielded
    for number in range(1, factor):
        shifted = build.index(Index.of(loop.iv) + number * step, loop.iv.name)
        values = _body(build, op, shifted, values)
    build.operations.append(affine.yield_(values, location=op.location))
    return op.with_body(build.operations)


def _written_out(op: Operation, given: LoopRange) -> Replacement:
    """All iterations one after the other, without a loop."""
    trips = given.trips.constant
    if trips is None:
        raise errors.IllegalTransformation(
            op.location,
            advice="Give a factor",
            transformation=f"full unrolling of loop {affine.For(op).iv.name}",
            reason="the number of its iterations is not constant",
        )
    build = Builder(op.location)
    values: Sequence[Value] = affine.For(op).inits
    for number in range(max(0, trips)):
        at = build.index(given.after(number), affine.For(op).iv.name)
        values = _body(build, op, at, values)
    results = dict(zip(op.results, values, strict=True))
    return Replacement(tuple(build.operations), results)


def _body(
    build: Builder, op: Operation, at: Value, values: Sequence[Value]
) -> tuple[Value, ...]:
    """Append the body with its variable at ``at``; the values it yields."""
    loop = affine.For(op)
    known = {loop.iv: at, **dict(zip(loop.iter_args, values, strict=True))}
    *body, terminator = loop.body
    for inner in body:
        build.operations.append(clone(inner, known))
    return tuple(known.get(v, v) for v in terminator.operands)
