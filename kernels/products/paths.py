"""The order in which several factors are contracted, two at a time.

Comes in: the axes of each factor, and their extents.  Goes out: pairs.  Up to `EXACT`
factors every order is compared; of more, the cheapest pair is taken each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from math import prod

Axes = frozenset[str]
Path = tuple[tuple[int, int], ...]
EXACT = 8
"""Factors of which every order is compared: 3 ** 8 pairs of subsets."""


def contraction_path(
    factors: Sequence[Axes], result: Axes, sizes: Mapping[str, int]
) -> Path:
    """Pairs of positions; their product goes to the end of what is left.

    The cost of a pair is the number of its products: that of the iterations over all
    axes of the two.

    >>> axes = [frozenset(word) for word in ("ab", "bc", "cd")]
    >>> contraction_path(axes, frozenset("ad"), {"a": 9, "b": 2, "c": 9, "d": 1})
    ((1, 2), (0, 1))
    """
    if len(factors) <= EXACT:
        return _exact(tuple(factors), result, sizes)
    return _greedy(factors, result, sizes)


def _left(mine: Axes, others: Sequence[Axes], result: Axes) -> Axes:
    """The axes of a product that are needed after it."""
    return mine & result.union(*others)


def _cost(axes: Axes, sizes: Mapping[str, int]) -> int:
    return prod(max(sizes[axis], 1) for axis in axes)


def _greedy(factors: Sequence[Axes], result: Axes, sizes: Mapping[str, int]) -> Path:
    left, path = [*factors], list[tuple[int, int]]()
    while len(left) > 1:
        pairs = combinations(range(len(left)), 2)
        i, j = min(pairs, key=lambda p: (_cost(left[p[0]] | left[p[1]], sizes), p))
        pair = left[i] | left[j]
        left = [axes for n, axes in enumerate(left) if n not in {i, j}]
        left.append(_left(pair, left, result))
        path.append((i, j))
    return tuple(path)


def _exact(factors: tuple[Axes, ...], result: Axes, sizes: Mapping[str, int]) -> Path:
    """The cheapest tree over subsets, as pairs in the order of its nodes."""
    count = len(factors)
    every = (1 << count) - 1

    def axes_of(members: int) -> Axes:
        inner = [f for n, f in enumerate(factors) if members >> n & 1]
        outer = [f for n, f in enumerate(factors) if not members >> n & 1]
        return _left(frozenset[str]().union(*inner), outer, result)

    @cache
    def best(members: int) -> tuple[int, int]:
        """The cost of a subset's product, and the half it is split into."""
        if members & (members - 1) == 0:
            return 0, 0
        options: list[tuple[int, int]] = []
        half = (members - 1) & members
        while half:
            other = members ^ half
            if half > other:
                axes = axes_of(half) | axes_of(other)
                here = _cost(axes, sizes)
                options.append((best(half)[0] + best(other)[0] + here, half))
            half = (half - 1) & members
        return min(options)

    path, left = list[tuple[int, int]](), [1 << n for n in range(count)]

    def visit(members: int) -> None:
        half = best(members)[1]
        if not half:
            return
        visit(half)
        visit(members ^ half)
        i, j = sorted((left.index(half), left.index(members ^ half)))
        path.append((i, j))
        del left[j], left[i]
        left.append(members)

    visit(every)
    return tuple(path)
