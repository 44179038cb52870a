"""Loops and branches: affine.for / if / parallel and scf.for / if / while.

Loop-carried values and results of branches are Python variables that are assigned
where the values are yielded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import gcd

from gpucodegen.dialects import affine, scf
from gpucodegen.emit.conditions import condition_text
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.expressions import extreme
from gpucodegen.emit.kinds import is_index
from gpucodegen.emit.loops import counted, range_arguments
from gpucodegen.emit.reductions import COMBINERS, identity
from gpucodegen.emit.text import Level, Text, call
from gpucodegen.ir.affine import AffineExpr, Const, Constraint, substitute
from gpucodegen.ir.operation import Block, Operation, Value

UNROLL = "gcg.unroll"
"""Marks an ``affine.for`` with constant bounds to be written out."""


def _texts(e: Emitter, values: Sequence[Value]) -> list[Text]:
    return [e.text(value) for value in values]


def _bound(e: Emitter, function: str, bounds: Sequence[AffineExpr]) -> Text:
    return extreme(function, [e.affine(bound) for bound in bounds])


def _loop_variable(e: Emitter, iv: Value, divisor: int = 1) -> str:
    """A fresh variable for a loop; it is shared with nothing."""
    name = e.names.fresh(iv.name, "i")
    e.rename(iv, name, divisor)
    return name


def _body(
    e: Emitter, operations: Sequence[Operation], targets: Sequence[Value]
) -> None:
    """Operations of a block, then the values it yields assigned to ``targets``."""
    *inner, terminator = operations
    e.emit(inner)
    e.writer.location = terminator.location
    e.assign(targets, _texts(e, terminator.operands))


def _declare(e: Emitter, values: Sequence[Value]) -> None:
    """Choose variables in this scope that are first assigned in an inner one."""
    for value in values:
        e.variable(value)


# -- affine ----------------------------------------------------------------------------


def affine_for(e: Emitter, op: Operation) -> None:
    """``affine.for``."""
    loop = affine.For(op)
    lowers = e.applied(loop.lower_map, loop.lower_operands)
    uppers = e.applied(loop.upper_map, loop.upper_operands)
    e.assign(loop.iter_args, _texts(e, loop.inits))
    e.writer.location = op.location
    if UNROLL in op.attributes and loop.constant_bounds is not None:
        _unrolled(e, loop, *loop.constant_bounds)
    else:
        with _range_loop(e, loop.iv, (lowers, uppers), loop.step):
            _body(e, loop.body, loop.iter_args)
    _results(e, op, loop.iter_args)


Bounds = tuple[Sequence[AffineExpr], Sequence[AffineExpr]]


@contextmanager
def _range_loop(e: Emitter, iv: Value, bounds: Bounds, step: int) -> Generator[None]:
    """A loop from the largest lower bound to the smallest upper bound."""
    lowers, uppers = bounds
    with e.names.scope():
        name = _loop_variable(e, iv, _divisor(e, lowers, step))
        lower, upper = _bound(e, "max", lowers), _bound(e, "min", uppers)
        with counted(e, name, lower, upper, step):
            yield


def _divisor(e: Emitter, lowers: Sequence[AffineExpr], step: int) -> int:
    """What surely divides a loop variable."""
    return gcd(e.divisor(lowers[0]), step) if len(lowers) == 1 else 1


def _results(e: Emitter, op: Operation, carried: Sequence[Value]) -> None:
    """Results of a loop are the last carried values."""
    e.assign(op.results, _texts(e, carried))


def _unrolled(e: Emitter, loop: affine.For, lower: int, upper: int) -> None:
    for value in range(lower, upper, loop.step):
        e.indices[loop.iv] = Const(value)
        with e.repeated():
            _body(e, loop.body, loop.iter_args)


def affine_if(e: Emitter, op: Operation) -> None:
    """``affine.if``."""
    branch = affine.If(op)
    inputs = [e.index(value) for value in branch.operands]
    dims, syms = inputs[: branch.set.num_dims], inputs[branch.set.num_dims :]
    constraints = [
        Constraint(substitute(c.expr, dims, syms), c.equality)
        for c in branch.set.constraints
    ]
    condition = condition_text(constraints, e.affine)
    _branches(e, op, condition, branch.then_body, branch.else_body)


def _branches(
    e: Emitter,
    op: Operation,
    condition: Text,
    then_body: Sequence[Operation],
    else_body: Sequence[Operation],
) -> None:
    _declare(e, op.results)
    with e.block(f"if {condition}:"):
        _body(e, then_body, op.results)
    if any(inner.name not in _YIELDS for inner in else_body) or op.results:
        with e.block("else:"):
            _body(e, else_body, op.results)


_YIELDS = frozenset({"affine.yield", "scf.yield"})


def affine_parallel(e: Emitter, op: Operation) -> None:
    """``affine.parallel``: the outermost on the CPU is divided among the threads."""
    if op.results:
        _reducing(e, op)
    elif e.target.name == "cpu" and not e.in_parallel:
        _divided(e, affine.Parallel(op))
    else:
        loop = affine.Parallel(op)
        _nested(e, loop, 0, lambda: _body(e, loop.body, ()))


def _reducing(e: Emitter, op: Operation) -> None:
    """A parallel loop with results, in sequence: each one accumulates its part."""
    loop = affine.Parallel(op)
    kinds = [e.dtype(op, result) for result in op.results]
    names = list(zip(loop.reductions, kinds, strict=True))
    e.assign(op.results, [e.constant(identity(r, k), k) for r, k in names])

    def body() -> None:
        *inner, terminator = loop.body
        e.emit(inner)
        yielded = _texts(e, terminator.operands)
        totals = [
            part
            if name == "assign"
            else call(e.use(COMBINERS[name]), e.text(total), part)
            for name, total, part in zip(
                loop.reductions, op.results, yielded, strict=True
            )
        ]
        e.assign(op.results, totals)

    _nested(e, loop, 0, body)


def _nested(
    e: Emitter, loop: affine.Parallel, depth: int, body: Callable[[], None]
) -> None:
    if depth == len(loop.ivs):
        body()
        return
    bounds = _bounds_of(e, loop, depth)
    with _range_loop(e, loop.ivs[depth], bounds, loop.steps[depth]):
        _nested(e, loop, depth + 1, body)


def _bounds_of(e: Emitter, loop: affine.Parallel, depth: int) -> Bounds:
    lowers = e.applied(loop.lower_maps[depth], loop.lower_operands)
    uppers = e.applied(loop.upper_maps[depth], loop.upper_operands)
    return lowers, uppers


def _divided(e: Emitter, loop: affine.Parallel) -> None:
    """One ``prange`` over all iterations of all variables."""
    e.has_parallel = e.in_parallel = True
    with e.names.scope():
        ranges = [_range(e, loop, depth) for depth in range(len(loop.ivs))]
        starts, counts = [r[0] for r in ranges], [r[1] for r in ranges]
        total = _product(counts)
        if len(starts) == 1 and loop.steps[0] == 1 and starts[0] == Const(0):
            name = _loop_variable(e, loop.ivs[0])
            flat = None
        else:
            name = e.names.fresh("p")
            flat = e.atoms.add(name)
        with e.block(f"for {name} in {call(e.use('prange'), e.affine(total))}:"):
            if flat is not None:
                _unflatten(e, loop, flat, starts, counts)
            _body(e, loop.body, ())
    e.in_parallel = False


def _product(factors: Sequence[AffineExpr]) -> AffineExpr:
    """A product with its constant on the right."""
    total: AffineExpr = Const(1)
    for factor in factors:
        total = factor * total if isinstance(total, Const) else total * factor
    return total


def _range(
    e: Emitter, loop: affine.Parallel, depth: int
) -> tuple[AffineExpr, AffineExpr]:
    """First value of a variable and number of its values."""
    lowers, uppers = _bounds_of(e, loop, depth)
    lower = _single(e, "max", lowers, loop.ivs[depth])
    upper = _single(e, "min", uppers, loop.ivs[depth])
    return lower, (upper - lower).ceildiv(loop.steps[depth])


def _single(
    e: Emitter, function: str, bounds: Sequence[AffineExpr], iv: Value
) -> AffineExpr:
    """One expression for several bounds, through a variable."""
    if len(bounds) == 1:
        return bounds[0]
    name = e.names.fresh(f"{iv.name or 'i'}_{function}")
    e.writer.line(f"{name} = {_bound(e, function, bounds)}")
    return e.atoms.add(name)


def _unflatten(
    e: Emitter,
    loop: affine.Parallel,
    flat: AffineExpr,
    starts: Sequence[AffineExpr],
    counts: Sequence[AffineExpr],
) -> None:
    """The loop variables from the number of the iteration, the last one fastest."""
    for depth in reversed(range(len(counts))):
        inner = _product(counts[depth + 1 :])
        position = flat if inner == Const(1) else flat // inner
        if depth:
            position = position % counts[depth]
        e.define_index(loop.ivs[depth], starts[depth] + position * loop.steps[depth])
        inner = (
            counts[depth] * inner if isinstance(inner, Const) else inner * counts[depth]
        )


# -- scf -------------------------------------------------------------------------------


def scf_for(e: Emitter, op: Operation) -> None:
    """``scf.for``."""
    loop = scf.For(op)
    lower, upper, step = (e.text(v) for v in (loop.lower, loop.upper, loop.step))
    e.assign(loop.iter_args, _texts(e, loop.inits))
    e.writer.location = op.location
    with e.names.scope():
        name = _loop_variable(e, loop.iv)
        if e.target.counted_by_while:
            make = e.constructor(op, loop.iv)
            e.writer.line(f"{name} = {make}({lower})")
            with e.block(f"while {name} < {upper}:"):
                _body(e, loop.body, loop.iter_args)
                e.writer.line(f"{name} = {make}({name} + {step})")
        else:
            plain = range_arguments(lower, upper, step)
            counter = name if is_index(loop.iv.type) else e.names.fresh(name)
            with e.block(f"for {counter} in range({plain}):"):
                if counter != name:
                    e.writer.line(f"{name} = {e.constructor(op, loop.iv)}({counter})")
                _body(e, loop.body, loop.iter_args)
    _results(e, op, loop.iter_args)


def scf_if(e: Emitter, op: Operation) -> None:
    """``scf.if``."""
    branch = scf.If(op)
    condition = e.text(branch.condition)
    _branches(e, op, condition, branch.then_body, branch.else_body)


def scf_while(e: Emitter, op: Operation) -> None:
    """``scf.while``: an endless loop that is left before its second half."""
    loop = scf.While(op)
    e.assign(loop.before.arguments, _texts(e, loop.inits))
    _declare(e, op.results)
    with e.block("while True:"):
        *inner, condition = loop.before.operations
        e.emit(inner)
        test, *forwarded = condition.operands
        e.assign(op.results, _texts(e, forwarded))
        with e.block(f"if not {e.text(test).within(Level.NOT)}:"):
            e.writer.line("break")
        for argument, result in zip(loop.after.arguments, op.results, strict=True):
            e.alias(argument, result)
        _body(e, loop.after.operations, loop.before.arguments)


def execute_region(e: Emitter, op: Operation) -> None:
    """``scf.execute_region`` of one block."""
    blocks: tuple[Block, ...] = op.regions[0].blocks
    if len(blocks) != 1:
        raise e.refusal(op)
    _body(e, blocks[0].operations, op.results)


HANDLERS: dict[str, Handler] = {
    "affine.for": affine_for,
    "affine.if": affine_if,
    "affine.parallel": affine_parallel,
    "scf.for": scf_for,
    "scf.if": scf_if,
    "scf.while": scf_while,
    "scf.execute_region": execute_region,
}
