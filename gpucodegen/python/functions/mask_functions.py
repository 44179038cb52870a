"""Functions of the elements that a mask selects, without compacting them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import ROWS
from gpucodegen.python.functions.reduction_functions import accumulator, result_of_mean
from gpucodegen.python.masks import Selected, applied
from gpucodegen.python.operators import elementwise
from gpucodegen.python.range_checks import convert
from gpucodegen.python.reductions import ALL, ANY, LARGEST, PRODUCT, SMALLEST, SUM

_REDUCTIONS = {
    np.sum: SUM,
    np.prod: PRODUCT,
    np.min: SMALLEST,
    np.max: LARGEST,
    np.amin: SMALLEST,
    np.amax: LARGEST,
    np.any: ANY,
    np.all: ALL,
}


def of_selected(
    c: Context,
    node: ast.Call,
    function: Any,
    values: Sequence[Bound],
    named: Mapping[str, Bound],
) -> Bound:
    """The function's result, or None where it needs the compacted elements."""
    if named:
        return None
    first = values[0]
    if isinstance(function, np.ufunc) and function in ROWS:
        with c.operands(node, f"`{function.__name__}`", list(values)):
            return applied(function, values)
    if len(values) > 1 or not isinstance(first, Selected):
        return None
    if function is len and first.mask.rank == len(first.whole.extents):
        return first.count(c.b)
    if function is np.mean:
        total = first.reduced(c.b, SUM, accumulator(first.kind))
        count = convert(c.b, first.count(c.b), total.kind)
        made = elementwise(c, node, np.true_divide, [total, count], "`mean`")
        return convert(c.b, made, result_of_mean(first.kind))
    if isinstance(function, type(np.sum)) and function in _REDUCTIONS:
        return first.reduced(c.b, _REDUCTIONS[function], None)
    return None
