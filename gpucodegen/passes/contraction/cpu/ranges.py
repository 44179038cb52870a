"""Loops over axes of a contraction, or over parts of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis

Positions = dict[Value, Index]
"""Where each axis stands, by its loop variable."""


@dataclass(frozen=True, slots=True)
class Range:
    """Part of an axis: from ``lower`` to the smallest of ``uppers``, by ``stride``.

    ``skipped``: what is left out at its start, if it is positive.
    """

    axis: Axis
    lower: Index | Value | int
    uppers: Sequence[Index | int]
    stride: int = 1
    skipped: Index = ZERO

    @staticmethod
    def whole(axis: Axis) -> Range:
        """The axis from end to end."""
        return Range(axis, 0, [axis.extent])

    def inside(self, at: Positions) -> Index:
        """Position of the axis, counted from the start of the range."""
        return at[self.axis.iv] - self.lower

    @property
    def lowers(self) -> list[Index]:
        """The range begins at the largest of these."""
        first = Index.of(self.lower)
        return [first] if self.skipped == ZERO else [first, first + self.skipped]


def parts_of(position: Index, axes: Sequence[Axis]) -> Positions:
    """Where axes stand, the slowest first, that are joined to one."""
    found: Positions = {}
    inside = 1
    for axis in reversed(axes):
        place = position // inside
        found[axis.iv] = place if axis is axes[0] else place % axis.extent
        inside *= axis.extent
    return found


def nested(
    b: Builder,
    ranges: Sequence[Range],
    at: Positions,
    body: Callable[[Builder, Positions], None],
) -> None:
    """Sequential loops over ranges, outermost first."""
    if not ranges:
        body(b, at)
        return
    first, *rest = ranges
    b.loop(
        first.lowers,
        list(first.uppers),
        lambda i, iv: nested(i, rest, at | {first.axis.iv: Index.of(iv)}, body),
        step=first.stride,
        hint=first.axis.name,
    )


Piece = Callable[[Builder, Positions, int], None]
"""Builds a piece of a range, which begins where a position says, of some length."""


def in_pieces(b: Builder, part: Range, size: int, at: Positions, piece: Piece) -> None:
    """Pieces of a range, ``size`` long, and what is left over at the axis's end.

    The range begins at a multiple of the size, and ends at one, or with the axis.
    """
    axis, rest = part.axis, part.axis.extent % size
    whole, uppers = axis.extent - rest, [Index.of(upper) for upper in part.uppers]
    if whole:
        ends = [whole if upper.constant == axis.extent else upper for upper in uppers]
        full = replace(part, uppers=ends, stride=size)
        nested(b, [full], at, lambda i, here: piece(i, here, size))
    if rest:
        to_the_end = [upper - axis.extent for upper in uppers]
        end = at | {axis.iv: Index.of(whole)}
        b.guard(to_the_end, lambda i: piece(i, end, rest))


def grid(
    b: Builder,
    extents: Sequence[int],
    body: Callable[[Builder, Sequence[Value]], None],
    hints: Sequence[str],
    *,
    parallel: bool,
) -> None:
    """``body`` for every point of a box: in parallel, or in order."""

    def ordered(inner: Builder, ivs: tuple[Value, ...]) -> None:
        if len(ivs) == len(extents):
            body(inner, ivs)
            return
        extent, hint = extents[len(ivs)], hints[len(ivs)]
        inner.loop(0, extent, lambda i, iv: ordered(i, (*ivs, iv)), hint=hint)

    if parallel and extents:
        b.parallel(extents, body, hints)
    else:
        ordered(b, ())


Values = Sequence[Value]
Step = Callable[[Builder, Positions, Values], Values]
"""Adds one step of the reduction to an accumulator."""


def carried(
    b: Builder,
    ranges: Sequence[Range],
    at: Positions,
    values: Values,
    step: Step,
) -> Values:
    """Loops over the reduction ranges that carry the accumulators."""
    if not ranges:
        return step(b, at, values)
    first, *rest = ranges

    def body(inner: Builder, iv: Value, now: Values) -> Values:
        here = at | {first.axis.iv: Index.of(iv)}
        return carried(inner, rest, here, now, step)

    bounds = (first.lower, list(first.uppers))
    return b.carried_loop(
        *bounds, values, body, step=first.stride, hint=first.axis.name
    )
