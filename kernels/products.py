"""Matrix product: ``linalg.matmul`` as a function of arrays."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING

from gpucodegen import api
from gpucodegen.calls.form import form_of
from gpucodegen.kernels.arrays import Array, ArrayT, is_turned, library, require_rank
from gpucodegen.kernels.calls import Calls, KernelCall
from gpucodegen.kernels.sources import element_aliases, source

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function


def matmul(
    a: ArrayT, b: ArrayT, *, out: ArrayT | None = None, target: str = "auto"
) -> ArrayT:
    """The product of two matrices of one dtype, NumPy or CuPy.

    Operands that are neither contiguous nor transposes of what is contiguous are copied
    first, and so are small transposes on the left.  The result is written to ``out`` if
    given, which must be contiguous.

    >>> import numpy as np
    >>> matmul(np.ones((2, 3), "f4"), np.ones((3, 4), "f4"))
    array([[3., 3., 3., 3.],
           [3., 3., 3., 3.]], dtype=float32)
    """
    done = _CALLS.repeated(target, a, b) if out is None else NotImplemented
    if done is not NotImplemented:
        return done
    form = target, form_of((a, b))
    call = _CALLS.known.get(form) or _CALLS.keep(form, _prepared(a, b, target))
    return _CALLS.run(target, call, (a, b), out)


_CALLS = Calls()
MANY = 1 << 13
"""Elements of a left transpose that take longer to copy than a call with strides."""


def _prepared(a: Array, b: Array, target: str) -> KernelCall:
    """What a call of these shapes needs, after all checks."""
    xp = library(a, function="matmul", argument="a")
    library(b, function="matmul", argument="b")
    require_rank(a, 2, function="matmul", argument="a")
    require_rank(b, 2, function="matmul", argument="b")
    turned = is_turned(a) and prod(a.shape) >= MANY, is_turned(b)
    kernel = _kernel(a.dtype, turned, target)
    return KernelCall(
        xp, kernel, (a.shape[0], b.shape[1]), turned if any(turned) else ()
    )


@cache
def _kernel(dtype: object, turned: tuple[bool, bool], target: str) -> Function:
    """The function of a type, of the transposes of operands that are turned."""
    maps = {
        alias: f"affine_map<(m, n, k) -> ({', '.join(axes[::-1] if turns else axes)})>"
        for alias, axes, turns in zip(
            ("#left", "#right"), ("mk", "kn"), turned, strict=True
        )
    }
    aliases = element_aliases(str(dtype), function="matmul", argument="a")
    return api.compile(source("matmul.mlir", aliases | maps), target=target).matmul
