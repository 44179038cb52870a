"""What evaluators return, values of loop variables, and maps taken at numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpucodegen import errors
from gpucodegen.interp.values.elements import canonical
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.types import INDEX


def given(values: tuple[Any, ...]) -> Any:
    """Results as an evaluator returns them: one value for one."""
    return values[0] if len(values) == 1 else values


def steps(lower: int, upper: int, step: int) -> range:
    """The values of a loop variable.  Raises InvalidLoopStep."""
    if step <= 0:
        raise errors.InvalidLoopStep(step=step)
    return range(lower, upper, step)


def at(map_: AffineMap, operands: Sequence[int]) -> tuple[int, ...]:
    """The results of a map.  Raises DivisionByZero.

    >>> at(AffineMap.identity(2), [3, 4])
    (3, 4)
    """
    dims = map_.num_dims
    try:
        made = map_.evaluate(operands[:dims], operands[dims:])
    except ZeroDivisionError as problem:
        raise errors.DivisionByZero from problem
    return tuple(canonical(n, INDEX) for n in made)
