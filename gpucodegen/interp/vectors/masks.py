"""vector.mask: one operation on the lanes of a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate, evaluator
from gpucodegen.interp.values.elements import Array
from gpucodegen.interp.values.indices import given
from gpucodegen.ir.operation import Operation


def _mask(m: Machine, op: Operation, mask: Array, *passed: Any) -> Any:
    """Lanes that the mask leaves out have what is passed, if something is."""
    *inside, end = op.body.operations
    for nested in inside:
        evaluate = evaluator(nested.name)
        assert evaluate is not None
        made = evaluate(m, nested, *m.of(nested.operands), mask=mask)
        if nested.results:
            m.values[nested.results[0]] = _merged(made, mask, passed)
    return given(m.of(end.operands))


def _merged(made: Any, mask: Array, passed: tuple[Any, ...]) -> Any:
    fits = isinstance(made, np.ndarray) and made.shape == mask.shape
    return np.where(mask, made, passed[0]) if passed and fits else made


OPERATIONS: dict[str, Evaluate] = {"vector.mask": _mask}
