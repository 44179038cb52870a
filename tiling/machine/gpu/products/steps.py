"""Blocks of terms that walk several axes of a reduction without divisions.

Terms are numbered through the axes, the last one fastest.  A block of ``depth`` terms
walks them evenly iff with some axis j and P positions of all axes behind it

    depth = P q,   and   q divides the extent of axis j, or j is the first axis.

Then every position behind j is the same in every block, and j moves by q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log


@dataclass(frozen=True, slots=True)
class Steps:
    """``axis`` moves by ``step``; a block passes through ``inner`` positions behind."""

    axis: int
    step: int
    inner: int


def steps_of(extents: Sequence[int | None], depth: int) -> Steps | None:
    """How blocks walk axes evenly, the slowest axis first; None if they do not.

    >>> steps_of((3, 3, 64), 16), steps_of((64, 3, 3), 18)
    (Steps(axis=2, step=16, inner=1), Steps(axis=0, step=2, inner=9))
    >>> steps_of((64, 3, 3), 16)
    """
    axis, inner = len(extents) - 1, 1
    while axis > 0:
        extent = extents[axis]
        if not extent or depth % (inner * extent):
            break
        axis, inner = axis - 1, inner * extent
    step = depth // inner
    extent = extents[axis]
    if axis > 0 and (extent is None or extent % step):
        return None
    terms = 1
    for count in extents:
        terms = 0 if count is None else terms * count
    is_ragged = inner > 1 and terms % inner
    return None if is_ragged else Steps(axis, step, inner)


def even_depth(extents: Sequence[int | None], depth: int, grain: int = 1) -> int:
    """The number of terms closest to ``depth`` whose blocks walk evenly, if there is.

    It is half of that to a third more, for shared memory holds the terms, and a
    multiple of ``grain``.

    >>> [even_depth(extents, 16) for extents in ((3, 3, 64), (64, 3, 3), (7, 7, 3))]
    [16, 18, 21]
    >>> even_depth((5, 7, 11), 16)
    11
    """
    tried = range(-(-depth // 2), depth * 4 // 3 + 1)
    even = [n for n in tried if n % grain == 0 and steps_of(extents, n)]
    return min(even, key=lambda n: abs(log(n / depth)), default=depth)
