"""Carries out new schedules: each nest of a module, legal or refused with a witness.

Comes in: a module and a planner from a `Movable` nest to a schedule.  Goes out: the
module with rebuilt nests.  Where isl gives no answer the order is kept, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.loops.restructuring.pieces import Movable, movable
from gpucodegen.passes.loops.restructuring.rebuild import rebuild
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.isl_ast import generate
from gpucodegen.tiling.schedule.schedule import Schedule

Planner = Callable[[Movable], Schedule | Refusal | None]
"""None keeps the nest as it is."""


def reorder_nests(module: Module, transformation: str, plan: Planner) -> Module:
    """Every outermost affine nest by its new schedule; illegal ones are errors."""

    def rewrite(
        op: Operation, context: Sequence[Operation], surroundings: Surroundings
    ) -> list[Operation]:
        made = reordered(op, context, surroundings, plan)
        if not isinstance(made, Refusal):
            return made
        if made.undecided:
            warn_kept(op, str(made))
            return [op]
        raise errors.IllegalTransformation(
            op.location, transformation=_titled(transformation, op), reason=str(made)
        )

    return rewrite_nests(module, rewrite)


def reordered(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    plan: Planner,
) -> list[Operation] | Refusal:
    """The operations in place of one nest."""
    source = movable(op, context, surroundings)
    if isinstance(source, Refusal):
        return source
    schedule = plan(source)
    if schedule is None:
        return [op]
    if isinstance(schedule, Refusal):
        return schedule
    nodes = generate(source.nest, schedule)
    if nodes is None:
        return Refusal("isl made no loops of its schedule", undecided=True)
    return rebuild(source, schedule, nodes)


def warn_kept(op: Operation, reason: str) -> None:
    """Tell that a nest keeps its order."""
    errors.tell(errors.OrderKept(op.location, loops=_names(op), reason=reason))


def _titled(transformation: str, op: Operation) -> str:
    return f"{transformation} the loops ({_names(op)})"


def _names(op: Operation) -> str:
    loops = (inner for inner in op.walk() if inner.name == "affine.for")
    return ", ".join(affine.For(loop).iv.name or "?" for loop in loops)


Rewrite = Callable[[Operation, Sequence[Operation], Surroundings], list[Operation]]


def rewrite_nests(module: Module, rewrite: Rewrite) -> Module:
    """Rewrite the outermost ``affine.for`` of functions, given what stands before."""
    surroundings = Surroundings.of(module)

    def block(operations: Sequence[Operation]) -> list[Operation]:
        made: list[Operation] = []
        for at, op in enumerate(operations):
            is_nest = op.name == "affine.for"
            made += rewrite(op, operations[:at], surroundings) if is_nest else [op]
        return made

    return in_functions(module, lambda op: [with_blocks(op, block)])
