"""Emits loops, branches and bodies of several blocks.

Loop-carried values and results of branches are Python variables that are assigned where
the values are yielded. A body of several blocks becomes a loop over the number of the
next block; such a region inside a structured body leaves the loop at its yield.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import gcd

from gpucodegen.dialects import cf, scf
from gpucodegen.dialects.cf import reverse_postorder
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.expressions import Precedence, Text, binary, call, extreme, number
from gpucodegen.emit.index_widths import LONG_STEP
from gpucodegen.emit.spelling import in_range, is_index
from gpucodegen.ir.affine import AffineExpr, Const
from gpucodegen.ir.operation import Block, Operation, Successor, Value


@contextmanager
def counted(
    e: Emitter, name: str, lower: Text, upper: Text, step: int
) -> Generator[None]:
    """``for name in range(lower, upper, step)``, or the same with ``while``."""
    if not e.spelling.counted_by_while:
        with e.block(f"for {name} in range({range_arguments(lower, upper, step)}):"):
            yield
        return
    if not (upper.code.isidentifier() or upper.code.isdecimal()):
        end = e.names.fresh(f"{name}_end")
        e.writer.line(f"{end} = {e.narrow(upper)}")
        upper = Text(end)
    narrow = e.use(e.spelling.index)
    e.writer.line(f"{name} = {call(narrow, lower)}")
    with e.block(f"while {name} < {upper}:"):
        yield
        add_step(e, name, upper, number(step), narrow, wraps=step > LONG_STEP)


def add_step(
    e: Emitter, name: str, upper: Text, step: Text, make: str, *, wraps: bool
) -> None:
    """Add the step; a loop that ``wraps`` exits before the sum leaves its type."""
    if wraps:
        last = binary(upper, "-", step, Precedence.SUM)
        with e.block(f"if {name} >= {last}:"):
            e.writer.line("break")
    following = binary(Text(name), "+", step, Precedence.SUM)
    e.writer.line(f"{name} = {call(make, following)}")


def range_arguments(lower: Text, upper: Text, step: int | Text) -> str:
    if str(step) != "1":
        return f"{lower}, {upper}, {step}"
    return str(upper) if lower.code == "0" else f"{lower}, {upper}"


Bounds = tuple[Sequence[AffineExpr], Sequence[AffineExpr]]
"""Lower bounds, whose maximum counts, and upper bounds, whose minimum counts."""


def texts(e: Emitter, values: Sequence[Value]) -> list[Text]:
    """The expressions that variables carry.

    Numba types a literal as ``int64``; a variable of 32-bit indices needs a cast of it.
    """
    index = e.spelling.index
    found = [e.text(value) for value in values]
    if index in ("", "int64"):
        return found
    return [
        call(e.use(index), text) if isinstance(e.indices.get(value), Const) else text
        for value, text in zip(values, found, strict=True)
    ]


def bound(e: Emitter, function: str, bounds: Sequence[AffineExpr]) -> Text:
    """The minimum or maximum of several expressions."""
    return extreme(function, [e.affine(bound) for bound in bounds])


def loop_variable(e: Emitter, iv: Value, divisor: int = 1) -> str:
    """A new variable for a loop, which no other value shares."""
    name = e.names.fresh(iv.name, "i")
    e.rename(iv, name, divisor)
    return name


def body_of(
    e: Emitter, operations: Sequence[Operation], targets: Sequence[Value]
) -> None:
    """Print a block, then assign its yielded values to ``targets``."""
    *inner, terminator = operations
    e.emit(inner)
    e.writer.location = terminator.location
    e.assign(targets, texts(e, terminator.operands))


def declare(e: Emitter, values: Sequence[Value]) -> None:
    """Choose variables in this scope that are first assigned in an inner scope."""
    for value in values:
        e.variable(value)


@contextmanager
def range_loop(e: Emitter, iv: Value, bounds: Bounds, step: int) -> Generator[None]:
    """A loop from the maximum of the lower to the minimum of the upper bounds."""
    lowers, uppers = bounds
    with e.names.scope():
        name = loop_variable(e, iv, _divisor(e, lowers, step))
        lower, upper = bound(e, "max", lowers), bound(e, "min", uppers)
        with counted(e, name, lower, upper, step):
            yield


def _divisor(e: Emitter, lowers: Sequence[AffineExpr], step: int) -> int:
    """A known divisor of the loop variable."""
    return gcd(e.divisor(lowers[0]), step) if len(lowers) == 1 else 1


def results_of(e: Emitter, op: Operation, carried: Sequence[Value]) -> None:
    """Bind the results of a loop to its last carried values."""
    e.assign(op.results, texts(e, carried))


def branches_of(
    e: Emitter,
    op: Operation,
    condition: Text,
    then_body: Sequence[Operation],
    else_body: Sequence[Operation],
) -> None:
    """``if condition:`` with an ``else:`` if that branch is not empty."""
    declare(e, op.results)
    with e.block(f"if {condition}:"):
        body_of(e, then_body, op.results)
    if any(inner.name not in _YIELDS for inner in else_body) or op.results:
        with e.block("else:"):
            body_of(e, else_body, op.results)


_YIELDS = frozenset({"affine.yield", "scf.yield"})


def nested_loops(
    e: Emitter,
    ivs: Sequence[Value],
    ranges: Sequence[tuple[Bounds, int]],
    body: Callable[[], None],
) -> None:
    """One loop per variable with its ``(bounds, step)``, nested."""
    if not ivs:
        body()
        return
    bounds, step = ranges[0]
    with range_loop(e, ivs[0], bounds, step):
        nested_loops(e, ivs[1:], ranges[1:], body)


def scf_for(e: Emitter, op: Operation) -> None:
    loop = scf.For(op)
    lower, upper, step = (e.text(v) for v in (loop.lower, loop.upper, loop.step))
    e.assign(loop.iter_args, texts(e, loop.inits))
    e.writer.location = op.location
    with _runtime_loop(e, op, loop.iv, (lower, upper, step)):
        body_of(e, loop.body, loop.iter_args)
    results_of(e, op, loop.iter_args)


@contextmanager
def _runtime_loop(
    e: Emitter, op: Operation, iv: Value, bounds: tuple[Text, Text, Text]
) -> Generator[None]:
    lower, upper, step = bounds
    with e.names.scope():
        name = loop_variable(e, iv)
        wraps = op in e.facts.wrapping
        if e.spelling.counted_by_while or wraps:
            make = e.constructor(op, iv)
            e.writer.line(f"{name} = {call(make, lower)}")
            with e.block(f"while {name} < {upper.within(Precedence.COMPARE + 1)}:"):
                yield
                add_step(e, name, upper, step, make, wraps=wraps)
            return
        counter = name if is_index(iv.type) else e.names.fresh(name)
        plain = range_arguments(lower, upper, step)
        with e.block(f"for {counter} in range({plain}):"):
            if counter != name:
                e.writer.line(f"{name} = {e.constructor(op, iv)}({counter})")
            yield


def scf_if(e: Emitter, op: Operation) -> None:
    branch = scf.If(op)
    condition = e.text(branch.condition)
    branches_of(e, op, condition, branch.then_body, branch.else_body)


def scf_while(e: Emitter, op: Operation) -> None:
    """``scf.while``: an endless loop that breaks before its after region."""
    loop = scf.While(op)
    e.assign(loop.before.arguments, texts(e, loop.inits))
    declare(e, op.results)
    with e.block("while True:"):
        *inner, condition = loop.before.operations
        e.emit(inner)
        test, *forwarded = condition.operands
        e.assign(op.results, texts(e, forwarded))
        with e.block(f"if not {e.text(test).within(Precedence.NOT)}:"):
            e.writer.line("break")
        for argument, result in zip(loop.after.arguments, op.results, strict=True):
            e.alias(argument, result)
        body_of(e, loop.after.operations, loop.before.arguments)


def index_switch(e: Emitter, op: Operation) -> None:
    """``scf.index_switch``: the first region is the default."""
    values = op.numbers("cases")
    default, *regions = op.regions
    selector = e.text(op.operands[0]).within(Precedence.COMPARE + 1)
    declare(e, op.results)
    for position, (value, region) in enumerate(zip(values, regions, strict=True)):
        word = "elif" if position else "if"
        with e.block(f"{word} {selector} == {int(value)}:"):
            body_of(e, region.blocks[0].operations, op.results)
    with e.block("else:" if values else "if True:"):
        body_of(e, default.blocks[0].operations, op.results)


SCF_HANDLERS: dict[str, Handler] = {
    "scf.for": scf_for,
    "scf.if": scf_if,
    "scf.while": scf_while,
    "scf.index_switch": index_switch,
}


def emit_blocks(e: Emitter, blocks: Sequence[Block]) -> None:
    """Print the blocks of a function body; the first is the entry."""
    if len(blocks) == 1:
        e.emit(blocks[0].operations)
    else:
        _emit_graph(e, blocks)


def execute_region(e: Emitter, op: Operation) -> None:
    """``scf.execute_region`` and ``memref.alloca_scope``."""
    blocks = op.regions[0].blocks
    if len(blocks) == 1:
        body_of(e, blocks[0].operations, op.results)
        return
    declare(e, op.results)
    outer = e.branches, e.yielded, e.is_structured
    e.yielded, e.is_structured = op.results, False
    with e.names.scope():
        _emit_graph(e, blocks)
    e.branches, e.yielded, e.is_structured = outer


def leave_region(e: Emitter, op: Operation) -> None:
    """``scf.yield`` at the end of a block: assign the results."""
    e.assign(e.yielded, texts(e, op.operands))
    e.writer.line("break")


def _emit_graph(e: Emitter, blocks: Sequence[Block]) -> None:
    state, ordered = e.names.fresh("block"), reverse_postorder(blocks)
    e.branches = (state, {b.label: (n, b) for n, b in enumerate(ordered) if b.label})
    e.writer.line(f"{state} = 0")
    with e.writer.block("while True:"):
        for number, block in enumerate(ordered):
            # A block is behind those that define its values.
            # Values cross from block to block, so their names stay in use.
            word = "elif" if number else "if"
            with e.writer.block(f"{word} {state} == {number}:"):
                e.emit(block.operations)


def _enter(e: Emitter, op: Operation, successor: Successor) -> None:
    """Assign the operands of a branch and set the next block."""
    state, targets = e.branches
    found = targets.get(successor.label)
    if found is None:
        raise e.broken(op, "a branch leaves its function")
    number, block = found
    e.assign(block.arguments, [e.text(value) for value in successor.operands])
    e.writer.line(f"{state} = {number}")


def branch(e: Emitter, op: Operation) -> None:
    _enter(e, op, op.successors[0])


def conditional_branch(e: Emitter, op: Operation) -> None:
    """``cf.cond_br``."""
    with e.writer.block(f"if {e.text(op.operands[0])}:"):
        _enter(e, op, op.successors[0])
    with e.writer.block("else:"):
        _enter(e, op, op.successors[1])


def switch(e: Emitter, op: Operation) -> None:
    """``cf.switch``: the first target is the default."""
    flag, (default, *others) = op.operands[0], op.successors
    kind = e.dtype(op, flag)
    selector = e.text(flag).within(Precedence.COMPARE + 1)
    for position, (value, successor) in enumerate(
        zip(cf.case_values(op), others, strict=True)
    ):
        case = bool(value) if kind == "i1" else int(in_range(value, kind))
        with e.writer.block(f"{'elif' if position else 'if'} {selector} == {case}:"):
            _enter(e, op, successor)
    with e.writer.block("else:" if others else "if True:"):
        _enter(e, op, default)


CFG_HANDLERS: dict[str, Handler] = {
    "cf.br": branch,
    "cf.cond_br": conditional_branch,
    "cf.switch": switch,
    "scf.execute_region": execute_region,
    "memref.alloca_scope": execute_region,
    "scf.yield": leave_region,
}
