"""Values of plan fields as users write them, and the numbers that planners compare.

A planner's point holds numbers, of which 0 asks for nothing: booleans are 1 and 2, an
order of loops has a digit for each loop, tuples have a number for each entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from gpucodegen.passes.loops.requested_schedules import (
    APART,
    TOGETHER,
    is_asked,
    number_of,
)
from gpucodegen.tiling.machine.plan_space import point_of_words


def numbers_of(name: str, value: object) -> Mapping[str, int]:
    """The numbers of a field, by the names of a point; numbers stay.

    Raises TypeError for a value that no field has.

    >>> numbers_of("order0", (2, 0, 1)), numbers_of("fusion1", True)
    ({'order0': 312}, {'fusion1': 2})
    >>> numbers_of("f_k0.product.direct", (True, False))
    {'f_k0.product.direct': 2}
    >>> numbers_of("stream.width", 4)
    {'stream.width': 4}
    """
    if type(value) is int:
        return {name: value}
    if is_asked(name):
        return {name: _of_order(value)}
    kind, _, field = name.rpartition(".")
    if isinstance(value, bool):
        return point_of_words(kind, {field: value})
    return point_of_words(kind, {field: _integers(value)})


def _integers(value: object) -> tuple[int, ...]:
    """A sequence of numbers or booleans."""
    if not isinstance(value, tuple | list):
        raise TypeError(value)
    given = cast("Sequence[object]", value)
    found = tuple(one for one in given if isinstance(one, int))
    if len(found) != len(given):
        raise TypeError(given)
    return found


def _of_order(value: object) -> int:
    """The positions of loops as digits, or whether nests are fused."""
    if isinstance(value, bool):
        return TOGETHER if value else APART
    return number_of(_integers(value))
