"""How the elements of an array lie in memory."""

from __future__ import annotations

from collections.abc import Sequence


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of contiguous memory, in elements.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
