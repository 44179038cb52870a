"""scf: loops and branches with run-time bounds and conditions."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from gpucodegen.dialects import scf
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import is_index
from gpucodegen.emit.tables.control.loops import add_step, range_arguments
from gpucodegen.emit.tables.control.structured import (
    body_of,
    branches_of,
    declare,
    loop_variable,
    results_of,
    texts,
)
from gpucodegen.emit.text.fragments import Precedence, Text, call
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import operand_segments


def scf_for(e: Emitter, op: Operation) -> None:
    """``scf.for``."""
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
    """``scf.if``."""
    branch = scf.If(op)
    condition = e.text(branch.condition)
    branches_of(e, op, condition, branch.then_body, branch.else_body)


def scf_while(e: Emitter, op: Operation) -> None:
    """``scf.while``: an endless loop that is left before its second half."""
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


def scf_parallel(e: Emitter, op: Operation) -> None:
    """``scf.parallel`` in sequence; results accumulate in the order of iterations."""
    lowers, uppers, steps, inits = operand_segments(op, 4)
    e.assign(op.results, texts(e, inits))
    ranges = [
        (e.text(a), e.text(b), e.text(c))
        for a, b, c in zip(lowers, uppers, steps, strict=True)
    ]
    with ExitStack() as loops:
        for iv, bounds in zip(op.body.arguments, ranges, strict=True):
            loops.enter_context(_runtime_loop(e, op, iv, bounds))
        *inner, terminator = op.body.operations
        e.emit(inner)
        for total, region, part in zip(
            op.results, terminator.regions, terminator.operands, strict=True
        ):
            (block,) = region.blocks
            for argument, value in zip(block.arguments, (total, part), strict=True):
                e.alias(argument, value)
            body_of(e, block.operations, [total])


def index_switch(e: Emitter, op: Operation) -> None:
    """``scf.index_switch``: the first region is the default."""
    values = op.numbers("cases")
    default, *regions = op.regions
    selector = e.text(op.operands[0]).within(Precedence.COMPARE + 1)
    declare(e, op.results)
    for number, (value, region) in enumerate(zip(values, regions, strict=True)):
        word = "elif" if number else "if"
        with e.block(f"{word} {selector} == {int(value)}:"):
            body_of(e, region.blocks[0].operations, op.results)
    with e.block("else:" if values else "if True:"):
        body_of(e, default.blocks[0].operations, op.results)


HANDLERS: dict[str, Handler] = {
    "scf.for": scf_for,
    "scf.if": scf_if,
    "scf.while": scf_while,
    "scf.parallel": scf_parallel,
    "scf.index_switch": index_switch,
}
