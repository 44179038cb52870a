"""Python functions in place of intrinsics: what they take and give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.intrinsics.sim.machine import plain

Twin = Callable[..., Any]


def typed(value: Any) -> Any:
    """An operand as NumPy knows it: a plain ``int`` is an i32."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int32((value + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000)
    return value


def _operands(values: tuple[Any, ...]) -> list[Any]:
    """Operands of one type: a plain ``int`` beside a wider integer takes its type."""
    wide = next((v for v in values if isinstance(v, (np.generic, np.ndarray))), None)
    if wide is None or wide.dtype.kind == "b":
        return [typed(v) for v in values]
    kind = wide.dtype.type
    return [kind(v) if isinstance(v, int) else v for v in values]


def twin(function: Twin) -> Twin:
    """Make an operation on NumPy values one on kernel values."""

    def call(*values: Any) -> Any:
        operands = _operands(values)
        result = function(*operands)
        if isinstance(result, np.ndarray):
            return result
        return plain(result)

    return call
