"""Expected work of nests, for decisions that cost no more than time when wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Operation, Value

Middles = Mapping[Value, int]
"""The middle of what each loop variable runs over; unknown ones are missing."""


def inside(op: Operation, middles: Middles) -> Middles:
    """The middles known in the body of an ``affine.for``."""
    found = _range(affine.For(op), middles)
    if found is None:
        return middles
    return {**middles, affine.For(op).iv: sum(found) // 2}


def expected_work(op: Operation, middles: Middles) -> int | None:
    """Operations that ``op`` executes; None where an extent is not known.

    A loop whose bounds depend on loops around it counts as in the middle of these:
    exact for a triangle, up to rounding.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @clear(%A: memref<9x9xf32>, %zero: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.for %j = 0 to affine_map<(i) -> (i + 1)>(%i) {
    ...       affine.store %zero, %A[%i, %j] : memref<9x9xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> nest = next(op for op in module.walk() if op.name == "affine.for")
    >>> expected_work(nest, {})
    45
    """
    if op.name in _UNCOUNTED:
        return None
    if op.name != "affine.for":
        nested = [o for r in op.regions for b in r.blocks for o in b.operations]
        return _sum(nested, middles) if nested else 1
    found = _range(affine.For(op), middles)
    body = op.body.operations[:-1]
    once = _sum(body, inside(op, middles))
    if found is None or once is None:
        return None
    low, high = found
    return max(0, -(-(high - low) // affine.For(op).step)) * once


_UNCOUNTED = frozenset({"scf.execute_region", "scf.for", "scf.while"})


def _sum(operations: Sequence[Operation], middles: Middles) -> int | None:
    amounts = [expected_work(op, middles) for op in operations]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _range(loop: affine.For, middles: Middles) -> tuple[int, int] | None:
    lower = _values(loop.lower_map, loop.lower_operands, middles)
    upper = _values(loop.upper_map, loop.upper_operands, middles)
    return (max(lower), min(upper)) if lower and upper else None


def _values(
    map_: AffineMap, operands: Sequence[Value], middles: Middles
) -> tuple[int, ...]:
    """The results of a bound's map at the middles, none if an operand has none."""
    known = [middles[value] for value in operands if value in middles]
    if len(known) < len(operands):
        return ()
    return map_.evaluate(known[: map_.num_dims], known[map_.num_dims :])
