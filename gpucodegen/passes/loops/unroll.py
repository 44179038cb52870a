"""Loop unrolling, and unroll-and-jam of an outer loop into its inner loops.

Unrolling keeps the order of iterations and is always legal; remaining iterations run in
a second loop.  Unroll-and-jam is legal iff no dependence carried by the loop within
``factor`` iterations points backward in the loops inside
(`gpucodegen.tiling.schedule.transforms`, with the formula).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import groupby
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import (
    Operation,
    Value,
    ValueMap,
    clone,
    segment_counts,
    single_block,
)
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.loops.carried_cells import (
    carried_through,
    holds_numbers,
    through_cells,
)
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import FOR, Site, loop_name, with_suffix
from gpucodegen.passes.nests.loop_ranges import LoopRange, with_range
from gpucodegen.passes.nests.loop_rewriting import (
    Replacement,
    chosen_loops,
    in_sequence,
    is_innermost,
    is_outermost,
    rewrite_loops,
    with_single_bounds,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.transforms import check_jam


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
    split = lower + step * factor * floor(t
    factor).  Below 0 trips split lies below
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
    """The body ``factor`` times, ``step`` apart, with carried values chained."""
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


@dataclass(frozen=True, slots=True)
class UnrollAndJam(ModulePass):
    """Unroll a loop by ``factor`` and jam the loops in it; default: outermost loops.

    Values that inner loops carry are carried once per copy.  ``relaxed`` permits
    another order of accumulations.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<4x9xf32>, %v: f32) {
    ...   affine.for %i = 0 to 4 {
    ...     affine.for %j = 0 to 9 {
    ...       affine.store %v, %A[%i, %j] : memref<4x9xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(UnrollAndJam(factor=2).apply(module))
    module {
      func.func @f(%A: memref<4x9xf32>, %v: f32) {
        affine.for %i = 0 to 4 step 2 {
          %i_0 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
          affine.for %j = 0 to 9 {
            affine.store %v, %A[%i, %j] : memref<4x9xf32>
            affine.store %v, %A[%i_0, %j] : memref<4x9xf32>
          }
        }
        return
      }
    }
    """

    name: ClassVar[str] = "unroll-and-jam"
    factor: int = 2
    function: str = ""
    loop: str = ""
    relaxed: bool = False

    def apply(self, module: Module) -> Module:
        """Unroll and jam, or raise IllegalTransformation with a witness."""
        check_factor(self.name, self.factor, least=1)
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        for site in chosen:
            what = f"jamming {self.factor} iterations of the loop at {site.shown}"
            loop_names.demand(holds_numbers([site.loop]), site.loop, what)
        return through_cells(module, chosen, carried_through, self._jammed)

    def _jammed(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def transform(site: Site, op: Operation) -> Replacement:
            what = f"jamming {self.factor} iterations of the loop at {site.shown}"
            refusal = not_jammable(op) or self._reversed(site, op, surroundings)
            loop_names.demand(refusal, op, what)
            return jammed(op, self.factor)

        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        return rewrite_loops(module, chosen, transform)

    def _reversed(
        self, site: Site, op: Operation, surroundings: Surroundings
    ) -> Refusal | None:
        analysis = loop_names.analysed(site, op, surroundings)
        (loop,) = loop_names.lifted_loops(analysis, [op])
        found, model = analysis.dependences, analysis.model
        return check_jam(model, found, loop, self.factor, relaxed=self.relaxed)


def jammed(op: Operation, factor: int) -> Replacement:
    """The loop with ``factor`` iterations in one, and the rest of them after it."""

    def rewrite(op: Operation, given: LoopRange) -> Replacement:
        main, rest = divided(given, factor)
        loops: list[Operation] = []
        if main is not None:
            copy = with_range(clone(op), main)
            loops.append(_side_by_side(copy, given.step, factor))
        if rest is not None:
            loops.append(with_suffix(with_range(clone(op), rest), "rest"))
        return in_sequence(op, loops)

    return with_single_bounds(op, rewrite)


def not_jammable(op: Operation) -> Refusal | None:
    """Why copies of the body cannot share its loops, whatever they do to memory."""
    return (
        loop_names.without_carried_values([op])
        or loop_names.without_copies([op])
        or _other_loops(op)
        or _bounds_vary(op, set(op.body.arguments))
    )


def _other_loops(op: Operation) -> Refusal | None:
    for inner in op.walk():
        if inner.regions and inner.name not in {FOR, "affine.if"}:
            return Refusal(f"'{inner.name}' has no iterations that could be shared")
    return None


def _bounds_vary(op: Operation, varying: set[Value]) -> Refusal | None:
    """Refuse loops to jam whose bounds are computed inside the unrolled one."""
    for inner in op.body.operations:
        if inner.name == FOR:
            if not varying.isdisjoint(loop_names.bound_values(inner)):
                names = f"loop {loop_name(inner)} depend on loop {loop_name(op)}"
                return Refusal(f"the bounds of {names}, or on what is computed in it")
            refusal = _bounds_vary(inner, varying | set(inner.body.arguments[1:]))
            if refusal is not None:
                return refusal
        varying |= set(inner.results)
    return None


def _side_by_side(op: Operation, step: int, factor: int) -> Operation:
    """The loop with ``factor`` copies of its body, ``step`` apart, jammed."""
    build = Builder(op.location)
    iv = affine.For(op).iv
    shifted = [
        build.index(Index.of(iv) + number * step, iv.name) for number in range(factor)
    ]
    copies = _Copies([{iv: value} for value in shifted])
    body = (*build.operations, *copies.of(op.body.operations[:-1]))
    return op.with_body((*body, op.body.operations[-1]))


@dataclass(slots=True)
class _Copies:
    """The values of the body in each copy."""

    values: list[ValueMap] = field(default_factory=list[ValueMap])

    def of(self, operations: Sequence[Operation]) -> list[Operation]:
        """Copies of operations: loops are jammed, other operations are repeated."""
        made: list[Operation] = []
        for is_loop, run in groupby(operations, key=lambda op: op.name == FOR):
            together = tuple(run)
            if is_loop:
                made += map(self._loop, together)
            else:
                made += [clone(op, known) for known in self.values for op in together]
        return made

    def _loop(self, op: Operation) -> Operation:
        """One loop around all copies of its body, with the values each carries."""
        loop = affine.For(op)
        iv = loop.iv.renewed()
        bounds = tuple(self.values[0].get(v, v) for v in loop_names.bound_values(op))
        inits = self._each(loop.inits)
        arguments = self._renewed(loop.iter_args)
        for known in self.values:
            known[loop.iv] = iv
        body = self.of(loop.body[:-1])
        body.append(affine.yield_(self._each(loop.yielded), location=op.location))
        sizes = (len(loop.lower_operands), len(loop.upper_operands), len(inits))
        return op.with_(
            operands=(*bounds, *inits),
            results=self._renewed(op.results),
            regions=(single_block(body, (iv, *arguments)),),
            attributes={
                **op.attributes,
                "operandSegmentSizes": segment_counts(*sizes),
            },
        )

    def _each(self, values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(known.get(v, v) for known in self.values for v in values)

    def _renewed(self, values: Sequence[Value]) -> tuple[Value, ...]:
        for known in self.values:
            known.update((v, v.renewed()) for v in values)
        return self._each(values)
