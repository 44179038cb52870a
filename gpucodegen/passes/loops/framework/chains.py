"""Perfectly nested loops, after scalar operations between them sank into the body."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.loops.framework.legality import bound_values
from gpucodegen.passes.loops.framework.naming import FOR

_FREE = frozenset({"affine.apply", "affine.min", "affine.max", "memref.dim"})


def is_repeatable(op: Operation) -> bool:
    """Whether an operation may run again elsewhere: constants and index arithmetic."""
    if op.name in _FREE or op.name == "arith.constant":
        return True
    is_index = all(isinstance(v.type, IndexType) for v in (*op.operands, *op.results))
    divides = "div" in op.name or "rem" in op.name
    return op.dialect == "arith" and bool(op.results) and is_index and not divides


def chain_of(op: Operation, most: int = 0) -> list[Operation]:
    """The loop and those perfectly nested in it, at most ``most`` if that is not 0."""
    chain = [op]
    while len(chain) != most:
        inner = inner_operations(chain[-1])
        if len(inner) != 1 or inner[0].name != FOR:
            break
        chain.append(inner[0])
    return chain


def sunk(op: Operation) -> Operation:
    """The loop with repeatable operations between its loops moved into the innermost.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<4x4xf32>) {
    ...   affine.for %i = 0 to 4 {
    ...     %zero = arith.constant 0.0 : f32
    ...     affine.for %j = 0 to 4 {
    ...       affine.store %zero, %A[%i, %j] : memref<4x4xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> loop = module.functions["f"].body.operations[0]
    >>> len(chain_of(loop)), len(chain_of(sunk(loop)))
    (1, 2)
    """
    inner = inner_operations(op)
    loops = [o for o in inner if o.name == FOR]
    if len(loops) != 1 or inner[-1] is not loops[0]:
        return op
    movable = _movable(inner[:-1], loops[0])
    kept = [o for o in inner[:-1] if o not in movable]
    (loop,) = loops
    moved = [o for o in inner[:-1] if o in movable]
    filled = loop.with_body((*moved, *loop.body.operations)) if moved else loop
    changed = sunk(filled)
    if changed is loop:
        return op
    return op.with_body((*kept, changed, op.body.operations[-1]))


def _movable(operations: Sequence[Operation], loop: Operation) -> set[Operation]:
    """Operations that only the body of the loop needs."""
    header: set[Value] = {*bound_values(loop), *affine.For(loop).inits}
    movable: set[Operation] = set()
    for op in reversed(operations):
        if is_repeatable(op) and header.isdisjoint(op.results):
            movable.add(op)
        else:
            header.update(v for o in op.walk() for v in o.operands)
    return movable


def rebuilt(chain: Sequence[Operation], body: Sequence[Operation]) -> Operation:
    """The loops of a chain, outermost first, around a body with its terminator."""
    inside = tuple(body)
    for op in reversed(chain):
        loop = op.with_body(inside)
        inside = (loop, affine.yield_(location=op.location))
    return inside[0]
