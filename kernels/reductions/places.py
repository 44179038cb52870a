"""Where the largest and the smallest elements are."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import Kernel, Recipe
from gpucodegen.kernels.elements import I64, element_of
from gpucodegen.kernels.reductions import texts
from gpucodegen.kernels.reductions.prepared import reduced, require_some
from gpucodegen.kernels.texts.axes import axes_of, axis_of


def argmax(
    x: Any,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The first place of the largest element along an axis, int64; NaN is largest.

    Without an axis, the place in the array as it lies row by row.

    >>> import numpy as np
    >>> argmax(np.array([[1, 5, 5], [3, 2, 1]]), axis=1)
    array([1, 0])
    """
    return ARGMAX((x,), out, target, axis, keepdims, tune=tune)


def argmin(
    x: Any,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The first place of the smallest element along an axis, as `argmax`.

    >>> import numpy as np
    >>> argmin(np.array([[4, 5, 1], [3, 2, 1]]))
    array(2)
    """
    return ARGMIN((x,), out, target, axis, keepdims, tune=tune)


def _prepare(
    arrays: tuple[Memory, ...],
    axis: int | None,
    keepdims: bool,
    *,
    name: str,
    function: str,
) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function=name, argument="x", kinds="fiub")
    is_number = not x.ndim
    if axis is None or is_number:
        axes = axes_of(axis, x.ndim)
    else:
        axes = (axis_of(axis, x.ndim),)
    require_some(name, x.shape, axes)
    if is_number:
        nest = texts.nest(name, element, I64, 1, (0,), keepdims=False)
        texts.place(nest, function)
        return Recipe(nest.text, (), I64.numpy, views=[lambda a: a.reshape((1,))])
    nest = texts.nest(name, element, I64, x.ndim, axes, keepdims=bool(keepdims))
    texts.place(nest, function)
    return Recipe(nest.text, reduced(x.shape, axes, keepdims), I64.numpy)


ARGMAX = Kernel("argmax", ("x",), partial(_prepare, name="argmax", function="max"))
ARGMIN = Kernel("argmin", ("x",), partial(_prepare, name="argmin", function="min"))
