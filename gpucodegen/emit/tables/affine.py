"""Emits affine loops, conditions, apply, min, max and index delinearization.

The outermost ``affine.parallel`` of a CPU kernel becomes one ``prange`` over all its
iterations; elsewhere it is a nest of sequential loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.shared.combiners import OF_ATOMICS
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.expressions import Text, call, condition_text
from gpucodegen.emit.tables.control import (
    Bounds,
    body_of,
    bound,
    branches_of,
    loop_variable,
    nested_loops,
    range_loop,
    results_of,
    texts,
)
from gpucodegen.emit.tables.memory import return_after
from gpucodegen.ir.affine import AffineExpr, Const, Constraint, substitute
from gpucodegen.ir.operation import Operation, Value, operand_segments

UNROLL = "gcg.unroll"
"""Marks an ``affine.for`` with constant bounds to be unrolled."""


def affine_for(e: Emitter, op: Operation) -> None:
    loop = affine.For(op)
    lowers = e.applied(loop.lower_map, loop.lower_operands)
    uppers = e.applied(loop.upper_map, loop.upper_operands)
    e.assign(loop.iter_args, texts(e, loop.inits))
    e.writer.location = op.location
    if UNROLL in op.attributes and loop.constant_bounds is not None:
        _unrolled(e, loop, *loop.constant_bounds)
    else:
        with range_loop(e, loop.iv, (lowers, uppers), loop.step):
            e.swept = e.index(loop.iv) if _is_swept(e, loop) else None
            if affine.SCALAR in op.attributes and e.spelling.takes_hints:
                e.writer.line(str(call(e.use("one_at_a_time"))))
            body_of(e, loop.body, loop.iter_args)
            e.swept = None
    results_of(e, op, loop.iter_args)


SHORT = 16
"""Trip counts up to which LLVM may unroll a loop."""


def _is_swept(e: Emitter, loop: affine.For) -> bool:
    """Whether it is a long innermost loop that the compiler may vectorize."""
    bounds = loop.constant_bounds
    is_long = bounds is None or bounds[1] - bounds[0] > SHORT * loop.step
    is_innermost = not any(op.regions for op in loop.body)
    return e.spelling.takes_hints and is_long and is_innermost


def _unrolled(e: Emitter, loop: affine.For, lower: int, upper: int) -> None:
    for value in range(lower, upper, loop.step):
        e.indices[loop.iv] = Const(value)
        with e.repeated():
            body_of(e, loop.body, loop.iter_args)


def affine_if(e: Emitter, op: Operation) -> None:
    branch = affine.If(op)
    inputs = [e.index(value) for value in branch.operands]
    dims, syms = inputs[: branch.set.num_dims], inputs[branch.set.num_dims :]
    constraints = [
        Constraint(substitute(c.expr, dims, syms), c.equality)
        for c in branch.set.constraints
    ]
    condition = condition_text(constraints, lambda expr: e.narrow(e.affine(expr)))
    branches_of(e, op, condition, branch.then_body, branch.else_body)


def affine_parallel(e: Emitter, op: Operation) -> None:
    """``affine.parallel``: the outermost one may become a ``prange``."""
    if op.results:
        _reducing(e, op)
    elif e.spelling.divides_loops and not e.in_parallel:
        _divided(e, affine.Parallel(op))
    else:
        loop = affine.Parallel(op)
        _nested(e, loop, lambda: body_of(e, loop.body, ()))


def _reducing(e: Emitter, op: Operation) -> None:
    """A parallel loop with results, emitted sequentially with accumulators."""
    loop = affine.Parallel(op)
    pairs = zip(loop.reductions, op.results, strict=True)
    e.assign(op.results, [_neutral(e, op, kind, value) for kind, value in pairs])

    def body() -> None:
        *inner, terminator = loop.body
        e.emit(inner)
        yielded = texts(e, terminator.operands)
        totals = [
            call(e.use(OF_ATOMICS[name].operation), e.text(total), part)
            if name in OF_ATOMICS
            else part
            for name, total, part in zip(
                loop.reductions, op.results, yielded, strict=True
            )
        ]
        e.assign(op.results, totals)

    _nested(e, loop, body)


def _neutral(e: Emitter, op: Operation, kind: str, total: Value) -> Text:
    """The initial value of an accumulator; assignments may start from any value."""
    combiner = OF_ATOMICS.get(kind)
    start = combiner.neutral_of(total.type) if combiner else 0
    return e.constant(start, e.dtype(op, total))


def _nested(e: Emitter, loop: affine.Parallel, body: Callable[[], None]) -> None:
    bounds = [_bounds_of(e, loop, depth) for depth in range(len(loop.ivs))]
    nested_loops(e, loop.ivs, list(zip(bounds, loop.steps, strict=True)), body)


def _bounds_of(e: Emitter, loop: affine.Parallel, depth: int) -> Bounds:
    lowers = e.applied(loop.lower_maps[depth], loop.lower_operands)
    uppers = e.applied(loop.upper_maps[depth], loop.upper_operands)
    return lowers, uppers


def _divided(e: Emitter, loop: affine.Parallel) -> None:
    """One ``prange`` over all iterations of all variables."""
    e.has_parallel = e.in_parallel = True
    before = len(e.facts.failing)
    with e.names.scope():
        ranges = [_range(e, loop, depth) for depth in range(len(loop.ivs))]
        starts = [start for start, _ in ranges]
        counts = _clamped(e, loop, [count for _, count in ranges])
        total = _product(counts)
        if len(starts) == 1 and loop.steps[0] == 1 and starts[0] == Const(0):
            name = loop_variable(e, loop.ivs[0])
            flat = None
        else:
            name = e.names.fresh("p")
            flat = e.atoms.add(name)
        with e.block(f"for {name} in {call(e.use('prange'), e.affine(total))}:"):
            if flat is not None:
                _unflatten(e, loop, flat, starts, counts)
            body_of(e, loop.body, ())
    e.in_parallel = False
    return_after(e, e.facts.failing[before:])


def _product(factors: Sequence[AffineExpr]) -> AffineExpr:
    """A product with its constant on the right."""
    total: AffineExpr = Const(1)
    for factor in factors:
        total = factor * total if isinstance(total, Const) else total * factor
    return total


def _range(
    e: Emitter, loop: affine.Parallel, depth: int
) -> tuple[AffineExpr, AffineExpr]:
    """First value and trip count of a variable."""
    lowers, uppers = _bounds_of(e, loop, depth)
    lower = _single(e, "max", lowers, loop.ivs[depth])
    upper = _single(e, "min", uppers, loop.ivs[depth])
    return lower, (upper - lower).ceildiv(loop.steps[depth])


def _clamped(
    e: Emitter, loop: affine.Parallel, counts: Sequence[AffineExpr]
) -> list[AffineExpr]:
    """Trip counts, clamped at zero if several are dynamic, to multiply them."""
    clamped = [
        Const(max(count.value, 0)) if isinstance(count, Const) else count
        for count in counts
    ]
    unknown = [n for n, c in enumerate(clamped) if not e.atoms.is_nonnegative(c)]
    if sum(not isinstance(count, Const) for count in clamped) > 1:
        for n in unknown:
            name = e.names.fresh(f"{loop.ivs[n].name or 'i'}_count")
            e.writer.line(f"{name} = max(0, {e.affine(clamped[n])})")
            clamped[n] = e.atoms.add(name)
    return clamped


def _single(
    e: Emitter, function: str, bounds: Sequence[AffineExpr], iv: Value
) -> AffineExpr:
    """A single expression for several bounds, through a variable."""
    if len(bounds) == 1:
        return bounds[0]
    name = e.names.fresh(f"{iv.name or 'i'}_{function}")
    e.writer.line(f"{name} = {bound(e, function, bounds)}")
    return e.atoms.add(name)


def _unflatten(
    e: Emitter,
    loop: affine.Parallel,
    flat: AffineExpr,
    starts: Sequence[AffineExpr],
    counts: Sequence[AffineExpr],
) -> None:
    """Compute the loop variables from the flat iteration number, last fastest."""
    for depth in reversed(range(len(counts))):
        inner = _product(counts[depth + 1 :])
        position = flat if inner == Const(1) else flat // inner
        if depth:
            position = position % counts[depth]
        e.define_index(loop.ivs[depth], starts[depth] + position * loop.steps[depth])
        inner = (
            counts[depth] * inner if isinstance(inner, Const) else inner * counts[depth]
        )


HANDLERS: dict[str, Handler] = {
    "affine.for": affine_for,
    "affine.if": affine_if,
    "affine.parallel": affine_parallel,
}


def apply(e: Emitter, op: Operation) -> None:
    """``affine.apply``: printed at its use if it has only one."""
    (expr,) = e.applied(affine.map_of(op), op.operands)
    if e.is_inlined(op):
        e.indices[op.result] = expr
    else:
        e.define_index(op.result, expr)


def extreme_of(function: str) -> Handler:
    def handler(e: Emitter, op: Operation) -> None:
        bounds = e.applied(affine.map_of(op), op.operands)
        texts = [e.affine(bound) for bound in bounds]
        text = texts[0] if len(texts) == 1 else call(function, *texts)
        e.define(op.result, e.narrow(text))

    return handler


def _basis(e: Emitter, op: Operation, dynamic: Sequence[Value]) -> list[AffineExpr]:
    """Extents of the digits, most significant first."""
    entries = op.numbers("static_basis")
    values = iter(dynamic)
    return [
        e.index(next(values)) if entry == DYNAMIC_MARK else Const(int(entry))
        for entry in entries
    ]


def delinearize(e: Emitter, op: Operation) -> None:
    linear, *dynamic = op.operands
    basis = _basis(e, op, dynamic)
    inner = basis[len(basis) - len(op.results) + 1 :]
    rest = e.index(linear)
    for position, result in enumerate(op.results):
        digit = rest // prod(inner[position:], start=Const(1))
        if position:
            digit = digit % inner[position - 1]
        e.define_index(result, digit)


def linearize(e: Emitter, op: Operation) -> None:
    digits, dynamic = operand_segments(op, 2)
    basis = _basis(e, op, dynamic)
    inner = basis[len(basis) - len(digits) + 1 :]
    total: AffineExpr = Const(0)
    for position, digit in enumerate(digits):
        total = total + e.index(digit) * prod(inner[position:], start=Const(1))
    e.define_index(op.result, total)


INDEX_HANDLERS: dict[str, Handler] = {
    "affine.apply": apply,
    "affine.min": extreme_of("min"),
    "affine.max": extreme_of("max"),
    "affine.delinearize_index": delinearize,
    "affine.linearize_index": linearize,
}
