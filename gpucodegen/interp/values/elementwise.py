"""Functions of numbers on numbers, and on each element of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from gpucodegen.interp.values.elements import array_of, numbers
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def elementwise(
    op: Operation, function: Callable[..., Any], values: Sequence[Any]
) -> Any:
    """The results of an operation whose scalar form is a function of numbers.

    A number among arrays meets every element.
    """
    shapes = [v.shape for v in values if isinstance(v, np.ndarray)]
    if not shapes:
        return function(*values)
    lists = [
        numbers(value, element_type(operand.type))
        if isinstance(value, np.ndarray)
        else repeat(value)
        for value, operand in zip(values, op.operands, strict=True)
    ]
    made = [function(*row) for row in zip(*lists)]  # noqa: B905 - numbers repeat
    types = [element_type(v.type) for v in op.results]
    if len(types) == 1:
        return array_of(made, shapes[0], types[0])
    columns = list(zip(*made, strict=True)) or [()] * len(types)
    return tuple(
        array_of(column, shapes[0], ty)
        for column, ty in zip(columns, types, strict=True)
    )
