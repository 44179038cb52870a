"""Checks of arguments, which `jit` makes when it translates a call."""

from __future__ import annotations

from typing import Any


def constant(value: Any, what: str) -> Any:
    """A value that decides over the program: `jit` refuses one that is computed.

    >>> constant(2, "n=")
    2
    """
    del what
    return value


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front.

    >>> axis_of(-1, 3)
    2
    """
    return axis % ndim


def is_one(extent: Any) -> bool:
    """Whether an extent is certainly 1, which is a type of its own.

    >>> is_one(1), is_one(3)
    (True, False)
    """
    return extent == 1


def spread(row: Any, axis: int, rank: int) -> Any:
    """A vector along one axis of an array of a rank.

    >>> import numpy as np
    >>> spread(np.ones(3), 1, 3).shape
    (1, 3, 1)
    """
    return row[(None,) * axis + (slice(None),) + (None,) * (rank - axis - 1)]


def along(axis: int, entry: Any) -> Any:
    """The subscript that selects along one axis.

    >>> along(1, 5)
    (slice(None, None, None), 5)
    """
    return (slice(None),) * axis + (entry,)


def last_diagonal(squares: Any) -> Any:
    """The elements ``[.., i, i]`` of an array whose last two extents are equal: a view.

    >>> import numpy as np
    >>> last_diagonal(np.arange(4).reshape(2, 2))
    array([0, 3])
    """
    return squares.diagonal(axis1=-2, axis2=-1)
