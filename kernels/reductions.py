"""Calls of reductions, prepared: what each is called, its types, and its text.

Where the largest and the smallest elements are.

Sums, products, means and the like over axes: the reductions of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpucodegen import errors
from gpucodegen.kernels import reduction_text
from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import Kernel, Recipe
from gpucodegen.kernels.elements import BOOL, I64, Element, element_of, wished
from gpucodegen.kernels.merged_axes import axes_of, axis_of

Axes = int | Sequence[int] | None
Typing = tuple[Element, tuple[Any, ...]]
"""The element of a result, and what its text depends on besides."""


def prepare(
    arrays: tuple[Memory, ...],
    axis: Axes,
    keepdims: bool,
    *more: Any,
    name: str,
    typed: Callable[..., Element],
    write: Callable[..., None],
    kinds: str = "fiubc",
    identity: bool = True,
) -> Recipe:
    """A reduction: ``typed`` gives the element of the result, ``write`` its text."""
    (x,) = arrays
    element = element_of(x.dtype, function=name, argument="x", kinds=kinds)
    axes = axes_of(axis, x.ndim)
    if not identity:
        require_some(name, x.shape, axes)
    result, more = typed(element, *more)
    nest = reduction_text.nest(
        name, element, result, x.ndim, axes, keepdims=bool(keepdims)
    )
    write(nest, *more)
    return Recipe(nest.text, reduced(x.shape, axes, keepdims), result.numpy)


def reduced(shape: tuple[int, ...], axes: Sequence[int], keepdims: bool) -> Any:
    """The shape of a result.

    >>> reduced((2, 3, 4), (1,), True), reduced((2, 3, 4), (0, 2), False)
    ((2, 1, 4), (3,))
    """
    return tuple(
        1 if at in axes else extent
        for at, extent in enumerate(shape)
        if keepdims or at not in axes
    )


def require_some(name: str, shape: tuple[int, ...], axes: Sequence[int]) -> None:
    """Refuse to take the largest of nothing."""
    if all(shape[axis] for axis in axes):
        return
    raise errors.WrongArgumentType(
        function=name,
        argument="x",
        expected="an array with elements along the axes that are reduced",
        actual=f"one of shape {shape}",
    )


def _summed(element: Element, dtype: Any) -> Typing:
    """As NumPy: sums of integers have 64 bits."""
    return (element.totalled if dtype is None else wished(dtype)), ()


def _same(element: Element) -> Typing:
    return element, ()


def _always(result: Element) -> Callable[[Element], Typing]:
    return lambda _: (result, ())


def _averaged(element: Element) -> Typing:
    return element.averaged, ()


def _spread(element: Element, ddof: int) -> Typing:
    averaged = element.averaged
    return (averaged.part if averaged.kind == "c" else averaged), (ddof,)


def _kernel(name: str, typed: Any, write: Any, **more: Any) -> Kernel:
    made = partial(prepare, name=name, typed=typed, write=write, **more)
    return Kernel(name, ("x",), made)


SUM = _kernel("sum", _summed, partial(reduction_text.total, function="add"))
PROD = _kernel("prod", _summed, partial(reduction_text.total, function="mul"))
MAX = _kernel(
    "max",
    _same,
    partial(reduction_text.extreme, function="max"),
    kinds="fiub",
    identity=False,
)
MIN = _kernel(
    "min",
    _same,
    partial(reduction_text.extreme, function="min"),
    kinds="fiub",
    identity=False,
)
ALL = _kernel("all", _always(BOOL), partial(reduction_text.truth, function="min"))
ANY = _kernel("any", _always(BOOL), partial(reduction_text.truth, function="max"))
NONZERO = _kernel("count_nonzero", _always(I64), reduction_text.nonzero)
MEAN = _kernel("mean", _averaged, reduction_text.mean)
VAR = _kernel("var", _spread, partial(reduction_text.variance, root=False))
STD = _kernel("std", _spread, partial(reduction_text.variance, root=True))
LOGSUMEXP = _kernel("logsumexp", _averaged, reduction_text.log_sum_exp, kinds="fiub")


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
        nest = reduction_text.nest(name, element, I64, 1, (0,), keepdims=False)
        reduction_text.place(nest, function)
        return Recipe(nest.text, (), I64.numpy, views=[lambda a: a.reshape((1,))])
    nest = reduction_text.nest(
        name, element, I64, x.ndim, axes, keepdims=bool(keepdims)
    )
    reduction_text.place(nest, function)
    return Recipe(nest.text, reduced(x.shape, axes, keepdims), I64.numpy)


ARGMAX = Kernel("argmax", ("x",), partial(_prepare, name="argmax", function="max"))
ARGMIN = Kernel("argmin", ("x",), partial(_prepare, name="argmin", function="min"))


def sum(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The sum over axes; None means all of them.

    Sums of integers and bools have 64 bits unless ``dtype`` says otherwise, those of
    floats of 16 bits and less are kept in f32 and rounded once.  The order of a sum is
    free.  Of no elements it is 0.

    >>> import numpy as np
    >>> sum(np.arange(6, dtype="i1").reshape(2, 3), axis=1)
    array([ 3, 12])
    """
    return SUM((x,), out, target, axis, keepdims, dtype, tune=tune)


def prod(
    x: Any,
    axis: Axes = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The product over axes, in types like those of `sum`; of no elements it is 1.

    >>> import numpy as np
    >>> prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([3., 8.])
    """
    return PROD((x,), out, target, axis, keepdims, dtype, tune=tune)


def max(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The largest element over axes, NaN if one is; there must be elements.

    >>> import numpy as np
    >>> max(np.array([[1, 5], [3, 4]]), axis=1, keepdims=True)
    array([[5],
           [4]])
    """
    return MAX((x,), out, target, axis, keepdims, tune=tune)


def min(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The smallest element over axes, NaN if one is; there must be elements.

    >>> import numpy as np
    >>> min(np.array([[1, 5], [3, 4]]), axis=0)
    array([1, 4])
    """
    return MIN((x,), out, target, axis, keepdims, tune=tune)


def all(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Whether every element over axes differs from zero, as NaN does.

    >>> import numpy as np
    >>> all(np.array([[1, 0], [3, 4]]), axis=1)
    array([False,  True])
    """
    return ALL((x,), out, target, axis, keepdims, tune=tune)


def any(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Whether an element over axes differs from zero, as NaN does.

    >>> import numpy as np
    >>> any(np.array([[0, 0], [3, 4]]), axis=1)
    array([False,  True])
    """
    return ANY((x,), out, target, axis, keepdims, tune=tune)


def count_nonzero(
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """How many elements over axes differ from zero, in 64 bits.

    >>> import numpy as np
    >>> count_nonzero(np.array([[1, 0], [3, 4]]), axis=0)
    array([2, 1])
    """
    return NONZERO((x,), out, target, axis, keepdims, tune=tune)


def mean(
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The mean over axes: of integers in f64, of narrow floats kept in f32.

    Of no elements it is NaN.

    >>> import numpy as np
    >>> mean(np.array([[1, 2], [3, 4]]), axis=0)
    array([2., 3.])
    """
    return MEAN((x,), out, target, axis, keepdims, tune=tune)


def var(
    x: Any,
    axis: Axes = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The variance over axes, in types like those of `mean`; of complex numbers real.

    The mean is computed first and then the squares of distances from it, whose sum is
    divided by the number of elements less ``ddof``.

    >>> import numpy as np
    >>> var(np.array([1.0, 2.0, 3.0]), ddof=1)
    array(1.)
    """
    return VAR((x,), out, target, axis, keepdims, ddof, tune=tune)


def std(
    x: Any,
    axis: Axes = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The standard deviation over axes: the root of `var`.

    >>> import numpy as np
    >>> std(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1)
    array([1., 2.])
    """
    return STD((x,), out, target, axis, keepdims, ddof, tune=tune)


def logsumexp(
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """``log(sum(exp(x)))`` over axes, as SciPy's; no exponential overflows.

    >>> import numpy as np
    >>> logsumexp(np.array([1000.0, 1000.0])).round(3)
    np.float64(1000.693)
    """
    return LOGSUMEXP((x,), out, target, axis, keepdims, tune=tune)
