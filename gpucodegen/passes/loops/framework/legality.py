"""Asks `tiling` about loops of a function and turns its refusals into errors."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.gpu.collectives import COLLECTIVES
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.loops.framework.naming import Site, loop_name
from gpucodegen.tiling.model.scop import Loop, loops
from gpucodegen.tiling.proof.legality import Refusal

ASYNCHRONOUS = frozenset(
    {
        "affine.dma_start",
        "affine.dma_wait",
        "memref.dma_start",
        "memref.dma_wait",
        *COLLECTIVES,
    }
)
"""What these order is not a dependence between iterations."""


def analysed(
    site: Site, op: Operation, surroundings: Surroundings, *, fine: bool = False
) -> NestAnalysis:
    """The analysis of the nest around a loop, with ``op`` in place of the loop."""
    (root,) = rewrite_bottom_up(site.root, lambda o: [op] if o is site.loop else None)
    return analyse([root], site.before, surroundings, fine=fine)


def lifted_loops(analysis: NestAnalysis, operations: Sequence[Operation]) -> list[Loop]:
    """The loop of the analysis that was made from each operation."""
    made = {id(loop.payload): loop for loop in loops(analysis.lifted.scop.body)}
    return [made[id(op)] for op in operations]


def demand(refusal: Refusal | None, op: Operation, transformation: str) -> None:
    """Raise IllegalTransformation at the loop if there is a refusal."""
    if refusal is None:
        return
    witness = refusal.witness
    events = (witness.first, witness.second) if witness else ()
    notes = [
        (event.loc, f"{event.statement} at {event} {event.verb}s it")
        for event in events
        if isinstance(event.loc, Location)
    ]
    raise errors.IllegalTransformation(
        op.location, notes=notes, transformation=transformation, reason=str(refusal)
    )


def without_copies(operations: Sequence[Operation]) -> Refusal | None:
    """Refuse where asynchronous copies or barriers are inside."""
    for op in operations:
        for inner in op.walk():
            if inner.name in ASYNCHRONOUS:
                return Refusal(f"'{inner.name}' orders more than its own iteration")
    return None


def without_carried_values(chain: Sequence[Operation]) -> Refusal | None:
    """Refuse loops with iteration arguments: their order is that of the values."""
    carrying = next((op for op in chain if op.results), None)
    if carrying is None:
        return None
    return Refusal(f"loop {loop_name(carrying)} carries values between iterations")


def shown(chain: Sequence[Operation]) -> str:
    """Names of loops for a message."""
    return ", ".join(loop_name(op) or "?" for op in chain)


def used_by(op: Operation) -> set[Value]:
    """Every value that an operation or anything inside it uses."""
    return {value for inner in op.walk() for value in inner.operands}


def bound_values(op: Operation) -> tuple[Value, ...]:
    """Operands of the bounds of a loop."""
    loop = affine.For(op)
    return (*loop.lower_operands, *loop.upper_operands)
