"""One of two values for each lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.ptx.types import Value

_where: Any = np.where


def select(condition: Value, yes: Value, no: Value) -> Value:
    """``yes`` where a condition holds; a scalar while all three are scalars.

    >>> select(np.array([True, False]), np.int32(1), np.int32(2))
    array([1, 2], dtype=int32)
    """
    if condition.ndim == 0:
        return yes if condition else no
    return _where(condition, yes, no)
