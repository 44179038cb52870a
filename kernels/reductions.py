"""NumPy's reductions: sums, products, extrema and their indices, moments."""

from __future__ import annotations

from typing import Any, Unpack

from gpucodegen.kernels import reduction_calls
from gpucodegen.kernels.calls import How, Kernel, described
from gpucodegen.kernels.reduction_calls import Axes


def _over_axes(kernel: Kernel):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        axis: Axes = None,
        *,
        keepdims: bool = False,
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        return kernel((x,), out, target, axis, keepdims, **how)

    return described(call)


@_over_axes(reduction_calls.ARGMAX)
def argmax() -> None:
    """The first index of the largest element along an axis, int64; NaN is largest.

    Without an axis, the index in the flattened row-major array.

    >>> import numpy as np
    >>> argmax(np.array([[1, 5, 5], [3, 2, 1]]), axis=1)
    array([1, 0])
    """


@_over_axes(reduction_calls.ARGMIN)
def argmin() -> None:
    """The first index of the smallest element along an axis, as `argmax`.

    >>> import numpy as np
    >>> argmin(np.array([[4, 5, 1], [3, 2, 1]]))
    array(2)
    """


def _total(kernel: Kernel):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        axis: Axes = None,
        *,
        dtype: Any = None,
        keepdims: bool = False,
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        return kernel((x,), out, target, axis, keepdims, dtype, **how)

    return described(call)


@_total(reduction_calls.SUM)
def sum() -> None:  # noqa: A001 - the name that NumPy has for it
    """The sum over axes; None means all of them.

    Sums of integers and bools have 64 bits unless ``dtype`` says otherwise, those of
    floats of 16 bits and less are kept in f32 and rounded once. The order of summation
    is unspecified. The sum of no elements is 0.

    >>> import numpy as np
    >>> sum(np.arange(6, dtype="i1").reshape(2, 3), axis=1)
    array([ 3, 12])
    """


@_total(reduction_calls.PROD)
def prod() -> None:
    """The product over axes, in types like those of `sum`; of no elements it is 1.

    >>> import numpy as np
    >>> prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([3., 8.])
    """


@_over_axes(reduction_calls.MAX)
def max() -> None:  # noqa: A001 - the name that NumPy has for it
    """The largest element over axes, NaN if one is; there must be elements.

    >>> import numpy as np
    >>> max(np.array([[1, 5], [3, 4]]), axis=1, keepdims=True)
    array([[5],
           [4]])
    """


@_over_axes(reduction_calls.MIN)
def min() -> None:  # noqa: A001 - the name that NumPy has for it
    """The smallest element over axes, NaN if one is; there must be elements.

    >>> import numpy as np
    >>> min(np.array([[1, 5], [3, 4]]), axis=0)
    array([1, 4])
    """


@_over_axes(reduction_calls.ALL)
def all() -> None:  # noqa: A001 - the name that NumPy has for it
    """Whether all elements over axes are nonzero; NaN counts as nonzero.

    >>> import numpy as np
    >>> all(np.array([[1, 0], [3, 4]]), axis=1)
    array([False,  True])
    """


@_over_axes(reduction_calls.ANY)
def any() -> None:  # noqa: A001 - the name that NumPy has for it
    """Whether any element over axes is nonzero; NaN counts as nonzero.

    >>> import numpy as np
    >>> any(np.array([[0, 0], [3, 4]]), axis=1)
    array([False,  True])
    """


@_over_axes(reduction_calls.NONZERO)
def count_nonzero() -> None:
    """Number of nonzero elements over axes, as int64.

    >>> import numpy as np
    >>> count_nonzero(np.array([[1, 0], [3, 4]]), axis=0)
    array([2, 1])
    """


@_over_axes(reduction_calls.MEAN)
def mean() -> None:
    """The mean over axes: integers in f64, narrow floats accumulated in f32.

    The mean of no elements is NaN.

    >>> import numpy as np
    >>> mean(np.array([[1, 2], [3, 4]]), axis=0)
    array([2., 3.])
    """


def _spread(kernel: Kernel):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        axis: Axes = None,
        *,
        ddof: int = 0,
        keepdims: bool = False,
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        return kernel((x,), out, target, axis, keepdims, ddof, **how)

    return described(call)


@_spread(reduction_calls.VAR)
def var() -> None:
    """The variance over axes, in types like those of `mean`; real for complex numbers.

    The mean is computed first and then the squared distances from it, whose sum is
    divided by the number of elements less ``ddof``.

    >>> import numpy as np
    >>> var(np.array([1.0, 2.0, 3.0]), ddof=1)
    array(1.)
    """


@_spread(reduction_calls.STD)
def std() -> None:
    """The standard deviation over axes: the root of `var`.

    >>> import numpy as np
    >>> std(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1)
    array([1., 2.])
    """


@_over_axes(reduction_calls.LOGSUMEXP)
def logsumexp() -> None:
    """``log(sum(exp(x)))`` over axes, as SciPy's; no exponential overflows.

    >>> import numpy as np
    >>> logsumexp(np.array([1000.0, 1000.0])).round(3)
    np.float64(1000.693)
    """
