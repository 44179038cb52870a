"""NumPy's reductions: sums, products, extrema and their indices, moments."""

from __future__ import annotations

from typing import Any

from gpucodegen.kernels import reduction_calls
from gpucodegen.kernels.reduction_calls import Axes


def argmax(
    x: Any,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The first index of the largest element along an axis, int64; NaN is largest.

    Without an axis, the index in the flattened row-major array.

    >>> import numpy as np
    >>> argmax(np.array([[1, 5, 5], [3, 2, 1]]), axis=1)
    array([1, 0])
    """
    return reduction_calls.ARGMAX((x,), out, target, axis, keepdims, tune=tune)


def argmin(
    x: Any,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The first index of the smallest element along an axis, as `argmax`.

    >>> import numpy as np
    >>> argmin(np.array([[4, 5, 1], [3, 2, 1]]))
    array(2)
    """
    return reduction_calls.ARGMIN((x,), out, target, axis, keepdims, tune=tune)


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
    floats of 16 bits and less are kept in f32 and rounded once. The order of summation
    is unspecified. The sum of no elements is 0.

    >>> import numpy as np
    >>> sum(np.arange(6, dtype="i1").reshape(2, 3), axis=1)
    array([ 3, 12])
    """
    return reduction_calls.SUM((x,), out, target, axis, keepdims, dtype, tune=tune)


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
    return reduction_calls.PROD((x,), out, target, axis, keepdims, dtype, tune=tune)


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
    return reduction_calls.MAX((x,), out, target, axis, keepdims, tune=tune)


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
    return reduction_calls.MIN((x,), out, target, axis, keepdims, tune=tune)


def all(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Whether all elements over axes are nonzero; NaN counts as nonzero.

    >>> import numpy as np
    >>> all(np.array([[1, 0], [3, 4]]), axis=1)
    array([False,  True])
    """
    return reduction_calls.ALL((x,), out, target, axis, keepdims, tune=tune)


def any(  # noqa: A001 - the name that NumPy has for it
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Whether any element over axes is nonzero; NaN counts as nonzero.

    >>> import numpy as np
    >>> any(np.array([[0, 0], [3, 4]]), axis=1)
    array([False,  True])
    """
    return reduction_calls.ANY((x,), out, target, axis, keepdims, tune=tune)


def count_nonzero(
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """Number of nonzero elements over axes, as int64.

    >>> import numpy as np
    >>> count_nonzero(np.array([[1, 0], [3, 4]]), axis=0)
    array([2, 1])
    """
    return reduction_calls.NONZERO((x,), out, target, axis, keepdims, tune=tune)


def mean(
    x: Any,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    target: str = "auto",
    tune: bool = False,
) -> Any:
    """The mean over axes: integers in f64, narrow floats accumulated in f32.

    The mean of no elements is NaN.

    >>> import numpy as np
    >>> mean(np.array([[1, 2], [3, 4]]), axis=0)
    array([2., 3.])
    """
    return reduction_calls.MEAN((x,), out, target, axis, keepdims, tune=tune)


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
    """The variance over axes, in types like those of `mean`; real for complex numbers.

    The mean is computed first and then the squared distances from it, whose sum is
    divided by the number of elements less ``ddof``.

    >>> import numpy as np
    >>> var(np.array([1.0, 2.0, 3.0]), ddof=1)
    array(1.)
    """
    return reduction_calls.VAR((x,), out, target, axis, keepdims, ddof, tune=tune)


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
    return reduction_calls.STD((x,), out, target, axis, keepdims, ddof, tune=tune)


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
    return reduction_calls.LOGSUMEXP((x,), out, target, axis, keepdims, tune=tune)
