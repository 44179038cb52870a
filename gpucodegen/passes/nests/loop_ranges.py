"""Loop ranges as index expressions, and perfect nests by sinking scalar operations.

`range_of` reads an ``affine.for`` and `with_range` writes it back.  Ranges are exact
for empty and negative ranges, steps, symbols, and several bounds on a side.  `sunk`
moves scalar operations between perfectly nested loops into the innermost body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import index_attr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType
from gpucodegen.passes.framework.indexing import (
    Index,
    as_map,
    bounds_of,
    compact,
    from_map,
    with_bounds,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.loop_names import FOR, bound_values
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class LoopRange:
    """``max(lowers) <= i < min(uppers)`` in steps from the lower end."""

    lowers: tuple[Index, ...]
    uppers: tuple[Index, ...]
    step: int = 1

    @property
    def lower(self) -> Index:
        """The only lower bound."""
        (bound,) = self.lowers
        return bound

    @property
    def upper(self) -> Index:
        """The only upper bound."""
        (bound,) = self.uppers
        return bound

    @property
    def is_single(self) -> bool:
        return len(self.lowers) == len(self.uppers) == 1

    @property
    def trips(self) -> Index:
        """Number of iterations, with one bound on each side; below 1: none."""
        return (self.upper - self.lower).ceildiv(self.step)

    @property
    def constant_trips(self) -> int | None:
        """Number of iterations in steps of one, if constant."""
        count = compact(self.upper - self.lower).constant if self.is_single else None
        return None if count is None else max(0, count)

    def after(self, count: Index | int) -> Index:
        """The loop variable after ``count`` steps from the only lower bound."""
        return self.lower + Index.of(count) * self.step

    def below(self, end: Index) -> LoopRange:
        """The part with i < ``end``."""
        return replace(self, uppers=_smallest((*self.uppers, end)))

    def starting(self, start: Index) -> LoopRange:
        """The part with i >= ``start``, a value that i takes."""
        return replace(self, lowers=_largest((*self.lowers, start)))


def range_of(op: Operation) -> LoopRange:
    """The range of an ``affine.for`` without redundant bounds.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%n: index) {
    ...   affine.for %i = 0 to min affine_map<(d0) -> (d0, d0 + 4)>(%n) step 2 { }
    ...   return
    ... }''')
    >>> loop = next(o for o in module.walk() if o.name == "affine.for")
    >>> print(range_of(loop).trips.expr)
    d0 ceildiv 2
    """
    loop = affine.For(op)
    lowers, uppers = bounds_of(loop)
    return LoopRange(_largest(lowers), _smallest(uppers), loop.step)


def with_range(op: Operation, given: LoopRange) -> Operation:
    """The loop, with all its values, over another range."""
    loop = affine.For(op)
    lower = _written(given.lowers, loop.lower_map, loop.lower_operands)
    upper = _written(given.uppers, loop.upper_map, loop.upper_operands)
    stepped = op.with_(attributes={**op.attributes, "step": index_attr(given.step)})
    return with_bounds(stepped, lower, upper)


def _written(
    bounds: Sequence[Index], map_: AffineMap, operands: Sequence[Value]
) -> tuple[AffineMap, Sequence[Value]]:
    """The bounds as a map of operands: the old ones where nothing changed."""
    unchanged = list(bounds) == from_map(map_, operands)
    return (map_, operands) if unchanged else as_map(bounds)


def _largest(bounds: Sequence[Index]) -> tuple[Index, ...]:
    """The bounds without those that another one exceeds by a constant."""
    kept: list[Index] = []
    for bound in bounds:
        if any(_difference(other, bound, at_least=0) for other in kept):
            continue
        kept = [o for o in kept if not _difference(bound, o, at_least=0)]
        kept.append(bound)
    return tuple(kept)


def _smallest(bounds: Sequence[Index]) -> tuple[Index, ...]:
    negated = [Index.of(0) - bound for bound in bounds]
    return tuple(Index.of(0) - bound for bound in _largest(negated))


def _difference(a: Index, b: Index, *, at_least: int) -> bool:
    constant = (a - b).constant
    return constant is not None and constant >= at_least


_FREE = frozenset({"affine.apply", "affine.min", "affine.max", "memref.dim"})


def is_repeatable(op: Operation) -> bool:
    """Whether an operation may be duplicated: constants and index arithmetic."""
    if op.name in _FREE or op.name == "arith.constant":
        return True
    is_index = all(isinstance(v.type, IndexType) for v in (*op.operands, *op.results))
    divides = "div" in op.name or "rem" in op.name
    return op.dialect == "arith" and bool(op.results) and is_index and not divides


def chain_of(op: Operation, most: int = 0) -> list[Operation]:
    """The loop and the loops perfectly nested in it, at most ``most`` unless 0."""
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
