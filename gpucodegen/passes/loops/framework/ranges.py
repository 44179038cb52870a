"""Ranges of loops as index expressions: read from an ``affine.for``, written back.

Comes in: a loop with any bounds.  Goes out: what its passes compute with, exact for
empty and negative ranges, steps, symbols, and several bounds on a side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, index_attr
from gpucodegen.ir.operation import Operation, Value, segment_counts
from gpucodegen.passes.framework.indexing import Index, as_map, from_map


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
        """Whether there is one bound on each side."""
        return len(self.lowers) == len(self.uppers) == 1

    @property
    def trips(self) -> Index:
        """How often the body runs, with one bound on each side; below 1: never."""
        return (self.upper - self.lower).ceildiv(self.step)

    def after(self, count: Index | int) -> Index:
        """The loop variable after ``count`` steps from the only lower bound."""
        return self.lower + Index.of(count) * self.step

    def below(self, end: Index) -> LoopRange:
        """The part with i < ``end``."""
        return replace(self, uppers=_smallest((*self.uppers, end)))

    def starting(self, start: Index) -> LoopRange:
        """The part with i >= ``start``, which must be a value that i takes."""
        return replace(self, lowers=_largest((*self.lowers, start)))


def range_of(op: Operation) -> LoopRange:
    """The range of an ``affine.for`` without bounds that never count.

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
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)
    return LoopRange(_largest(lowers), _smallest(uppers), loop.step)


def with_range(op: Operation, given: LoopRange) -> Operation:
    """The loop, with all its values, over another range."""
    loop = affine.For(op)
    lower_map, lower_operands = _written(
        given.lowers, loop.lower_map, loop.lower_operands
    )
    upper_map, upper_operands = _written(
        given.uppers, loop.upper_map, loop.upper_operands
    )
    sizes = segment_counts(len(lower_operands), len(upper_operands), len(loop.inits))
    return op.with_(
        operands=(*lower_operands, *upper_operands, *loop.inits),
        attributes={
            **op.attributes,
            "lowerBoundMap": AffineMapAttr(lower_map),
            "upperBoundMap": AffineMapAttr(upper_map),
            "step": index_attr(given.step),
            "operandSegmentSizes": sizes,
        },
    )


def _written(
    bounds: Sequence[Index], map_: AffineMap, operands: Sequence[Value]
) -> tuple[AffineMap, Sequence[Value]]:
    """The bounds as a map of operands: the old ones where nothing changed."""
    unchanged = list(bounds) == from_map(map_, operands)
    return (map_, operands) if unchanged else as_map(bounds)


def _largest(bounds: Sequence[Index]) -> tuple[Index, ...]:
    """Without those that another one exceeds by a constant."""
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
