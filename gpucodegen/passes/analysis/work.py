"""Expected work of nests, for decisions that cost no more than time when wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value

Middles = Mapping[Value, int]
"""The middle of what each loop variable runs over; unknown ones are missing."""
Weigh = Callable[[Operation], int]
"""What one execution of an operation without regions counts."""


def inside(op: Operation, middles: Middles, part: int = 0, parts: int = 1) -> Middles:
    """The middles known in the body of an ``affine.for``, in one of its equal parts."""
    found = _range(affine.For(op), middles)
    if found is None:
        return middles
    lower, upper = found
    middle = lower + (2 * part + 1) * (upper - lower) // (2 * parts)
    return {**middles, affine.For(op).iv: middle}


def iterations(op: Operation, middles: Middles) -> range | None:
    """What the variable of an ``affine.for`` runs over; None where it is not known."""
    found = _range(affine.For(op), middles)
    return None if found is None else range(*found, affine.For(op).step)


def expected_work(
    op: Operation, middles: Middles, weigh: Weigh = lambda _: 1
) -> int | None:
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
        return total_work(nested, middles, weigh) if nested else weigh(op)
    run = iterations(op, middles)
    once = total_work(op.body.operations[:-1], inside(op, middles), weigh)
    return None if run is None or once is None else len(run) * once


_UNCOUNTED = frozenset({"scf.execute_region", "scf.for", "scf.while"})


def total_work(
    operations: Sequence[Operation], middles: Middles, weigh: Weigh = lambda _: 1
) -> int | None:
    """What a list of operations executes together."""
    amounts: list[int] = []
    for op in operations:
        if op.name == "affine.apply":
            made = _values(affine.map_of(op), op.operands, middles)
            middles = {**middles, **dict(zip(op.results, made, strict=False))}
        amount = expected_work(op, middles, weigh)
        if amount is None:
            return None
        amounts.append(amount)
    return sum(amounts)


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
