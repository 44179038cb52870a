"""Counted loops in the spelling of the target."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.kernel.index_widths import LONG_STEP
from gpucodegen.emit.text.fragments import Precedence, Text, binary, call, number


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
    """Add the step; a loop that ``wraps`` ends before a sum that its type lacks."""
    if wraps:
        last = binary(upper, "-", step, Precedence.SUM)
        with e.block(f"if {name} >= {last}:"):
            e.writer.line("break")
    following = binary(Text(name), "+", step, Precedence.SUM)
    e.writer.line(f"{name} = {call(make, following)}")


def range_arguments(lower: Text, upper: Text, step: int | Text) -> str:
    """What stands between the parentheses of ``range``."""
    if str(step) != "1":
        return f"{lower}, {upper}, {step}"
    return str(upper) if lower.code == "0" else f"{lower}, {upper}"
