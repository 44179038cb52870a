"""Matrix product: ``linalg.matmul`` behind a function of arrays."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import gpucodegen as gcg
from gpucodegen.kernels.arrays import Array, ArrayT, library, require_rank
from gpucodegen.kernels.calls import Call, Calls, form_of
from gpucodegen.kernels.sources import element_aliases, source

if TYPE_CHECKING:
    from gpucodegen.program import Function


def matmul(
    a: ArrayT, b: ArrayT, *, out: ArrayT | None = None, target: str = "auto"
) -> ArrayT:
    """The product of two matrices of one dtype, NumPy or CuPy.

    Operands that are not contiguous are copied first.  The result is written to ``out``
    if given, which must be contiguous.

    >>> import numpy as np
    >>> matmul(np.ones((2, 3), "f4"), np.ones((3, 4), "f4"))
    array([[3., 3., 3., 3.],
           [3., 3., 3., 3.]], dtype=float32)
    """
    form = form_of(a, b, target)
    call = _CALLS.known.get(form) or _CALLS.keep(form, _prepared(a, b, target))
    return call((a, b), out)


_CALLS = Calls()


def _prepared(a: Array, b: Array, target: str) -> Call:
    """What a call of these shapes needs, after all checks."""
    require_rank(a, 2, function="matmul", argument="a")
    require_rank(b, 2, function="matmul", argument="b")
    xp = library(a, function="matmul", argument="a")
    return Call(xp, _kernel(a.dtype, target), (a.shape[0], b.shape[1]))


@cache
def _kernel(dtype: object, target: str) -> Function:
    text = source(
        "matmul.mlir", element_aliases(str(dtype), function="matmul", argument="a")
    )
    return gcg.compile(text, target=target).matmul
