"""Merges adjacent axes that are treated alike into one loop dimension.

Input: a label for each axis of a shape. Output: groups of axes.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Sequence

from gpucodegen import errors

Shape = tuple[int, ...]


def merged(labels: Sequence[Hashable]) -> list[list[int]]:
    """Runs of adjacent axes with equal labels.

    >>> merged("kkrk")
    [[0, 1], [2], [3]]
    """
    groups: list[list[int]] = []
    for axis, label in enumerate(labels):
        if groups and labels[axis - 1] == label:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def axis_of(wish: object, rank: int, *, name: str = "axis") -> int:
    """An axis counted from the front, or a refusal.

    >>> axis_of(-1, 3)
    2
    """
    try:
        axis = operator.index(wish)  # type: ignore[arg-type]
    except TypeError:
        axis = rank
    if -rank <= axis < rank:
        return axis % rank
    hint = f"Pass an integer from {-rank} to {rank - 1}" if rank else "Pass an array"
    raise errors.InvalidOption(name=name, value=wish, hint=hint)


def axes_of(wish: object, rank: int, *, name: str = "axis") -> tuple[int, ...]:
    """Distinct axes, counted from the front and sorted; None means all.

    >>> axes_of(None, 2), axes_of((-1, 0), 3)
    ((0, 1), (0, 2))
    """
    is_number = not rank and isinstance(wish, int) and wish in (0, -1)
    if wish is None or is_number:  # NumPy takes a number for an array of one axis
        return tuple(range(rank))
    several = wish if isinstance(wish, Iterable) else (wish,)
    axes = [axis_of(each, rank, name=name) for each in several]
    if len(set(axes)) < len(axes):
        hint = "Name each axis once"
        raise errors.InvalidOption(name=name, value=wish, hint=hint)
    return tuple(sorted(axes))


def around(shape: Shape, axis: int) -> list[list[int]]:
    """The axes before one, itself, and those after it, without empty groups.

    >>> around((2, 3, 4, 5), 2)
    [[0, 1], [2], [3]]
    """
    before, after = range(axis), range(axis + 1, len(shape))
    return [list(group) for group in (before, [axis], after) if group]
