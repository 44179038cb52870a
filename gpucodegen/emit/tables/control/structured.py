"""What loops and branches of all dialects share.

Loop-carried values and results of branches are Python variables that are assigned
where the values are yielded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import gcd

from gpucodegen.emit.kernel.context import Emitter
from gpucodegen.emit.tables.control.loops import counted
from gpucodegen.emit.text.expressions import extreme
from gpucodegen.emit.text.fragments import Text
from gpucodegen.ir.affine.expressions import AffineExpr
from gpucodegen.ir.operation import Operation, Value

Bounds = tuple[Sequence[AffineExpr], Sequence[AffineExpr]]
"""Lower bounds, of which the largest counts, and upper bounds, the smallest."""


def texts(e: Emitter, values: Sequence[Value]) -> list[Text]:
    """The expressions of several values."""
    return [e.text(value) for value in values]


def bound(e: Emitter, function: str, bounds: Sequence[AffineExpr]) -> Text:
    """The smallest or largest of several expressions."""
    return extreme(function, [e.affine(bound) for bound in bounds])


def loop_variable(e: Emitter, iv: Value, divisor: int = 1) -> str:
    """A fresh variable for a loop; it is shared with nothing."""
    name = e.names.fresh(iv.name, "i")
    e.rename(iv, name, divisor)
    return name


def body_of(
    e: Emitter, operations: Sequence[Operation], targets: Sequence[Value]
) -> None:
    """Operations of a block, then the values it yields assigned to ``targets``."""
    *inner, terminator = operations
    e.emit(inner)
    e.writer.location = terminator.location
    e.assign(targets, texts(e, terminator.operands))


def declare(e: Emitter, values: Sequence[Value]) -> None:
    """Choose variables in this scope that are first assigned in an inner one."""
    for value in values:
        e.variable(value)


@contextmanager
def range_loop(e: Emitter, iv: Value, bounds: Bounds, step: int) -> Generator[None]:
    """A loop from the largest lower bound to the smallest upper bound."""
    lowers, uppers = bounds
    with e.names.scope():
        name = loop_variable(e, iv, _divisor(e, lowers, step))
        lower, upper = bound(e, "max", lowers), bound(e, "min", uppers)
        with counted(e, name, lower, upper, step):
            yield


def _divisor(e: Emitter, lowers: Sequence[AffineExpr], step: int) -> int:
    """What surely divides a loop variable."""
    return gcd(e.divisor(lowers[0]), step) if len(lowers) == 1 else 1


def results_of(e: Emitter, op: Operation, carried: Sequence[Value]) -> None:
    """Results of a loop are the last carried values."""
    e.assign(op.results, texts(e, carried))


def branches_of(
    e: Emitter,
    op: Operation,
    condition: Text,
    then_body: Sequence[Operation],
    else_body: Sequence[Operation],
) -> None:
    """``if condition:`` with an ``else:`` where there is something to do."""
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
    """One loop per variable in its ``(bounds, step)``, one inside the other."""
    if not ivs:
        body()
        return
    bounds, step = ranges[0]
    with range_loop(e, ivs[0], bounds, step):
        nested_loops(e, ivs[1:], ranges[1:], body)
