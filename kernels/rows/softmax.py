"""Softmax and its logarithm along an axis, and running sums and products."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import Kernel, Recipe
from gpucodegen.kernels.elements import element_of, wished
from gpucodegen.kernels.rows import texts
from gpucodegen.kernels.texts.axes import axis_of
from gpucodegen.kernels.texts.function import Text


def softmax(
    x: Any, axis: int = -1, *, out: Any = None, target: str = "auto", tune: bool = False
) -> Any:
    """The exponentials along an axis over their sum, as ``scipy.special.softmax``.

    Floats of 16 bits and less are computed in f32 and rounded once.  The largest
    element of a row is taken off before, so that nothing overflows.

    >>> import numpy as np
    >>> softmax(np.array([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    return SOFTMAX((x,), out, target, axis, tune=tune)


def log_softmax(
    x: Any, axis: int = -1, *, out: Any = None, target: str = "auto", tune: bool = False
) -> Any:
    """The logarithm of `softmax`, computed without it; types are the same.

    >>> import numpy as np
    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    return LOG_SOFTMAX((x,), out, target, axis, tune=tune)


def cumsum(
    x: Any,
    axis: int | None = None,
    *,
    dtype: Any = None,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Sums of all elements up to each along an axis, in their order.

    Without an axis, of the array as it lies row by row.  Sums of integers and bools
    have 64 bits unless ``dtype`` says otherwise; those of floats of 16 bits and less
    are kept in f32, and each is rounded once.

    >>> import numpy as np
    >>> cumsum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([[1., 3.],
           [3., 7.]])
    """
    return CUMSUM((x,), out, target, axis, dtype, tune=tune)


def cumprod(
    x: Any,
    axis: int | None = None,
    *,
    dtype: Any = None,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Products of all elements up to each along an axis, in types like `cumsum`'s.

    >>> import numpy as np
    >>> cumprod(np.array([1, 2, 3, 4]))
    array([ 1,  2,  6, 24])
    """
    return CUMPROD((x,), out, target, axis, dtype, tune=tune)


def _prepare(arrays: tuple[Memory, ...], axis: int, *, name: str, write: Any) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function=name, argument="x", kinds="f")
    along, text = axis_of(axis, x.ndim), Text(name=name)
    rows = texts.Rows.of(text, element, x.shape, along)
    write(rows, rows.result(element, x.shape, along))
    return Recipe(text, x.shape, element.numpy)


def _prepare_running(
    arrays: tuple[Memory, ...],
    axis: int | None,
    dtype: Any,
    *,
    name: str,
    function: str,
) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function=name, argument="x")
    result = element.totalled if dtype is None else wished(dtype)
    is_flat = axis is None
    shape = (x.size,) if is_flat else x.shape
    along, text = 0 if is_flat else axis_of(axis, x.ndim), Text(name=name)
    rows = texts.Rows.of(text, element, shape, along)
    out = rows.result(result, shape, along)
    texts.running(rows, out, function, result.computed)
    views = (lambda array: array.reshape(-1),) if is_flat and x.ndim != 1 else ()
    return Recipe(text, shape, result.numpy, views=views)


def _kernel(name: str, write: Any) -> Kernel:
    return Kernel(name, ("x",), partial(_prepare, name=name, write=write))


def _running(name: str, function: str) -> Kernel:
    prepare = partial(_prepare_running, name=name, function=function)
    return Kernel(name, ("x",), prepare)


SOFTMAX = _kernel("softmax", texts.softmax)
LOG_SOFTMAX = _kernel("log_softmax", texts.log_softmax)
CUMSUM = _running("cumsum", "add")
CUMPROD = _running("cumprod", "mul")
