"""Sums of several accumulators (accumulator splitting): no step waits for the last one.

    acc[0] = what the sum is now;  acc[1..] = 0
    for k in the block, by t steps:
      acc[i] += the step k + i                            for i < t
    for k in what is left of the block:  acc[0] += the step k
    acc[0] + acc[1] + ..

This is another order of the terms, which must be permitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import FloatType, element_type
from gpucodegen.passes.contraction.cpu.ranges import (
    Positions,
    Range,
    Step,
    Values,
    carried,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index


def split_accumulators(
    b: Builder, ranges: Sequence[Range], at: Positions, acc: Value, step: Step, t: int
) -> Value:
    """The sum of all steps of the ranges, in ``t`` accumulators where they divide.

    Those of the last range do; what is left over stands at the end of its axis.
    """
    *outer, last = ranges
    if t == 1 or not _divides(last, t):
        return carried(b, ranges, at, [acc], step)[0]
    whole = last.axis.extent - last.axis.extent % t
    full = replace(last, uppers=_ends(last, whole), stride=t)
    rest = replace(last, lower=whole)
    zero = b.constant(0, acc.type)

    def turn(i: Builder, here: Positions, now: Values) -> Values:
        first = here[last.axis.iv]
        places = (here | {last.axis.iv: first + number} for number in range(t))
        return [
            step(i, place, [one])[0] for place, one in zip(places, now, strict=True)
        ]

    def block(i: Builder, here: Positions, now: Values) -> Values:
        sums = carried(i, [full], here, now, turn)
        if whole == last.axis.extent:
            return sums
        return [*carried(i, [rest], here, sums[:1], step), *sums[1:]]

    return _added(b, carried(b, outer, at, [acc, *[zero] * (t - 1)], block))


def _divides(part: Range, t: int) -> bool:
    """Whether a range has whole groups of ``t`` steps, but for the end of its axis."""
    lengths = [(Index.of(upper) - part.lower).constant for upper in part.uppers]
    known = [length for length in lengths if length is not None]
    is_whole = known == [part.axis.extent]
    return bool(known) and known[0] > t and (is_whole or known[0] % t == 0)


def _ends(part: Range, whole: int) -> list[Index | int]:
    """The upper bounds, of whole groups only."""
    extent = part.axis.extent
    ends = [upper for upper in part.uppers if Index.of(upper).constant != extent]
    is_cut = whole < extent or not ends
    return [*ends, whole] if is_cut else [*part.uppers]


def _added(b: Builder, sums: Values) -> Value:
    """All sums, pair by pair."""
    if len(sums) == 1:
        return sums[0]
    half, ty = len(sums) // 2, sums[0].type
    name = "arith.addf" if isinstance(element_type(ty), FloatType) else "arith.addi"
    pairs = zip(sums[:half], sums[half:], strict=True)
    return _added(b, [b.add(name, pair, [ty], hint="acc")[0] for pair in pairs])
