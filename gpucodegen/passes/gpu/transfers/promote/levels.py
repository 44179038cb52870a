"""At which loops of a nest tiles are held: the tile loops, outermost first."""

from __future__ import annotations

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.framework.nests import inner_operations


def perfect_chain(op: Operation) -> list[Operation]:
    """The ``affine.for`` loops from ``op`` inwards that hold nothing but the next."""
    chain: list[Operation] = []
    while op.name == "affine.for" and not op.results:
        chain.append(op)
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return chain


def tile_loops(op: Operation) -> list[Operation]:
    """The loops of the chain down to the last one that an inner loop starts from."""
    origins = {
        value
        for inner in op.walk()
        if inner.name == "affine.for"
        for value in affine.For(inner).lower_operands
    }
    chain = perfect_chain(op)
    used = [n for n, loop in enumerate(chain) if affine.For(loop).iv in origins]
    return chain[: used[-1] + 1] if used else []
