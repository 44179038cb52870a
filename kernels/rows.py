"""Operations along axes: softmax, normalization, prefix sums and products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels import row_text
from gpucodegen.kernels.arrays import (
    Memory,
    require_positive,
    require_rank,
    require_shape,
)
from gpucodegen.kernels.calls import How, Kernel, Recipe, View, described
from gpucodegen.kernels.elements import Element, element_of, wished
from gpucodegen.kernels.function_text import Operand, Text
from gpucodegen.kernels.merged_axes import around, axis_of
from gpucodegen.kernels.products.matmul import one_element
from gpucodegen.kernels.scalar_text import Value

EPSILON = 1e-5
"""What is added to variances, as torch does."""


def softmax(
    x: Any, axis: int = -1, *, out: Any = None, target: str = "auto", **how: Unpack[How]
) -> Any:
    """The exponentials along an axis over their sum, as ``scipy.special.softmax``.

    Floats of 16 bits and less are computed in f32 and rounded once. The maximum of a
    row is subtracted first, so that nothing overflows.

    >>> import numpy as np
    >>> softmax(np.array([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    return SOFTMAX((x,), out, target, axis, **how)


def log_softmax(
    x: Any, axis: int = -1, *, out: Any = None, target: str = "auto", **how: Unpack[How]
) -> Any:
    """The logarithm of `softmax`, computed directly; types are the same.

    >>> import numpy as np
    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    return LOG_SOFTMAX((x,), out, target, axis, **how)


def _prepare_softmax(
    arrays: tuple[Memory, ...], axis: int, *, name: str, write: Any
) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function=name, argument="x", kinds="f")
    along, text = axis_of(axis, x.ndim), Text(name=name)
    rows = row_text.Rows.of(text, element, x.shape, along)
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
    rows = row_text.Rows.of(text, element, shape, along)
    out = rows.result(result, shape, along)
    row_text.running(rows, out, function, result.computed)
    views = (lambda array: array.reshape(-1),) if is_flat and x.ndim != 1 else ()
    return Recipe(text, shape, result.numpy, views=views)


def _kernel(name: str, write: Any) -> Kernel:
    return Kernel(name, ("x",), partial(_prepare_softmax, name=name, write=write))


def _running(name: str, function: str) -> Kernel:
    prepare = partial(_prepare_running, name=name, function=function)
    return Kernel(name, ("x",), prepare)


SOFTMAX = _kernel("softmax", row_text.softmax)
LOG_SOFTMAX = _kernel("log_softmax", row_text.log_softmax)
CUMSUM = _running("cumsum", "add")
CUMPROD = _running("cumprod", "mul")


def _cumulative(kernel: Kernel):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        axis: int | None = None,
        *,
        dtype: Any = None,
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        return kernel((x,), out, target, axis, dtype, **how)

    return described(call)


@_cumulative(CUMSUM)
def cumsum() -> None:
    """Cumulative sums along an axis.

    Without an axis, over the flattened row-major array. Sums of integers and bools have
    64 bits unless ``dtype`` says otherwise; those of floats of 16 bits and less are
    kept in f32, and each is rounded once. Terms of floats are added in groups, so the
    last bits depend on the target.

    >>> import numpy as np
    >>> cumsum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([[1., 3.],
           [3., 7.]])
    """


@_cumulative(CUMPROD)
def cumprod() -> None:
    """Cumulative products along an axis, in types like `cumsum`'s.

    >>> import numpy as np
    >>> cumprod(np.array([1, 2, 3, 4]))
    array([ 1,  2,  6, 24])
    """


def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes, as torch's.

    ``normalized_shape`` are the extents of these axes, and those of ``weight`` and
    ``bias``.  All arrays have one dtype, a float; those of 16 bits and less are
    computed in f32 and rounded once.  Errors: WrongDtype, WrongExtent, InvalidOption.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0], [2.0, 8.0]]), 2, eps=0.0)
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    operands, has = _with_parameters((x,), weight, bias)
    options = "layer_norm", _extents(normalized_shape), *has, _epsilon(eps)
    return NORMS["layer_norm"](operands, out, target, *options, **how)


def rms_norm(
    x: Any,
    normalized_shape: int | Sequence[int] | None = None,
    weight: Any = None,
    eps: float | None = None,
    *,
    axis: int | None = None,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``x / sqrt(mean(x * x) + eps) * weight`` over the last axes, as torch's.

    Shapes, types and errors are those of `layer_norm`.  In place of
    ``normalized_shape``, ``axis`` is the only axis, whose extent ``weight`` has.
    ``eps`` is by default the distance from 1 to the next number of the dtype.

    >>> import numpy as np
    >>> rms_norm(np.array([[3.0, 3.0], [2.0, -2.0]]), 2, eps=0.0)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    operands, has = _with_parameters((x,), weight, None)
    epsilon = None if eps is None else _epsilon(eps)
    if (axis is None) == (normalized_shape is None):
        hint = "Pass normalized_shape or axis, not both"
        raise errors.InvalidOption(name="axis", value=axis, hint=hint)
    extents = None if normalized_shape is None else _extents(normalized_shape)
    options = "rms_norm", extents, *has, epsilon, axis
    return NORMS["rms_norm"](operands, out, target, *options, **how)


def batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    axis: int = 1,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel, as torch's.

    Statistics, ``weight`` and ``bias`` have one element per channel, which is ``axis``.
    Without statistics they are those of ``x``, over all other axes, as in training.
    Types and errors are those of `layer_norm`.

    >>> import numpy as np
    >>> x = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> batch_norm(x, np.array([2.0, 10.0]), np.array([1.0, 100.0]), eps=0.0)
    array([[-1.,  0.],
           [ 1.,  2.]])
    """
    if (running_mean is None) != (running_var is None):
        hint = "Pass running_mean and running_var, or neither"
        raise errors.InvalidOption(name="running_var", value=running_var, hint=hint)
    statistics = () if running_mean is None else (running_mean, running_var)
    operands, has = _with_parameters((x, *statistics), weight, bias)
    options = *has, _epsilon(eps), axis
    kernel = BATCH if statistics else GROUPS["batch_norm"]
    return kernel(operands, out, target, *options, **how)


def instance_norm(
    x: Any,
    eps: float = EPSILON,
    *,
    weight: Any = None,
    bias: Any = None,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """As `group_norm` with a group for each channel.

    >>> import numpy as np
    >>> instance_norm(np.array([[[1.0, 3.0], [2.0, 8.0]]]), eps=0.0)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    given, has = _with_parameters((x,), weight, bias)
    options = *has, _epsilon(eps), None
    return GROUPS["instance_norm"](given, out, target, *options, **how)


def group_norm(
    x: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = EPSILON,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over groups of channels.

    ``x`` is (n, channels, ...); means and variances are those of all elements of a
    group.  ``weight`` and ``bias`` have one element per channel.  Types and errors are
    those of `layer_norm`.

    >>> import numpy as np
    >>> group_norm(np.array([[1.0, 3.0, 2.0, 8.0]]), 2, eps=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    given, has = _with_parameters((x,), weight, bias)
    options = *has, _epsilon(eps), num_groups
    return GROUPS["group_norm"](given, out, target, *options, **how)


def normalize(
    x: Any,
    p: float = 2.0,
    axis: int = 1,
    eps: float = 1e-12,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``x / max(norm, eps)`` with the p-norm along an axis, as torch's.

    ``p`` is positive, and may be infinite.  Types are those of `layer_norm`.

    >>> import numpy as np
    >>> normalize(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    options = require_positive("p", p), axis, _epsilon(eps)
    return NORMALIZE((x,), out, target, *options, **how)


def _with_parameters(
    operands: tuple[Any, ...], *parameters: Any
) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    """Operands with the parameters that are given, and which are."""
    given = (array for array in parameters if array is not None)
    return (*operands, *given), tuple(array is not None for array in parameters)


def _extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _epsilon(eps: object) -> float:
    try:
        return float(eps)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        hint = "Pass a small number"
        raise errors.InvalidOption(name="eps", value=eps, hint=hint) from None


def _names(*has: bool) -> list[str]:
    return [n for n, there in zip(("weight", "bias"), has, strict=True) if there]


def _prepare(
    arrays: tuple[Memory, ...],
    name: str,
    extents: tuple[int, ...] | None,
    has_weight: bool,
    has_bias: bool,
    eps: float | None,
    axis: int | None = None,
) -> Recipe:
    x, *more = arrays
    names = _names(has_weight, has_bias)
    element = one_element(arrays, ["x", *names], name)
    element_of(x.dtype, function=name, argument="x", kinds="f")
    if extents is None:
        along = axis_of(axis, x.ndim)
        extents, groups = x.shape[along : along + 1], around(x.shape, along)
        place = groups.index([along])
    else:
        split = x.ndim - len(extents)
        if split < 0 or not extents or x.shape[split:] != extents:
            name_, hint = "normalized_shape", f"Pass the last extents of {x.shape}"
            raise errors.InvalidOption(name=name_, value=extents, hint=hint)
        groups = [[*range(split)], [*range(split, x.ndim)]]
        groups = [group for group in groups if group]
        place = len(groups) - 1
    for array, argument in zip(more, names, strict=True):
        require_shape(array, extents, function=name, argument=argument)
    text = Text(name=name)
    source = text.collapsed(text.array("x", element, x.ndim), groups)
    rows = row_text.Rows(text, source, place, element.computed)
    scale, shift = (
        _parameter(text, argument, element, len(extents), rows) if there else None
        for argument, there in (("weight", has_weight), ("bias", has_bias))
    )
    result = text.collapsed(text.array("out", element, x.ndim), groups)
    epsilon = _smallest(element) if eps is None else eps
    norm = row_text.Norm(rows, epsilon, name == "layer_norm", scale, shift)
    norm.write(rows.whole(result))
    return Recipe(text, x.shape, element.numpy)


def _parameter(
    text: Text, name: str, element: Element, rank: int, rows: row_text.Rows
) -> Operand:
    memref = text.array(name, element, rank)
    return Operand(text.collapsed(memref, [[*range(rank)]]), [f"d{rows.along}"])


def _smallest(element: Element) -> float:
    """Machine epsilon: the distance from 1 to the next number."""
    import numpy as np

    if element.bits >= 16 and element.dtype != "bfloat16":
        return float(np.finfo(element.numpy).eps)
    import ml_dtypes

    return float(ml_dtypes.finfo(element.numpy).eps)


def _prepare_batch_norm(
    arrays: tuple[Memory, ...],
    has_weight: bool,
    has_bias: bool,
    eps: float,
    axis: int,
) -> Recipe:
    name = "batch_norm"
    x, *more = arrays
    names = ["running_mean", "running_var", *_names(has_weight, has_bias)]
    element = one_element(arrays, ["x", *names], name)
    element_of(x.dtype, function=name, argument="x", kinds="f")
    require_rank(x, range(1, 33), function=name, argument="x")
    along = axis_of(axis, x.ndim)
    for array, argument in zip(more, names, strict=True):
        require_shape(array, (x.shape[along],), function=name, argument=argument)
    text = Text(name=name)
    rows = row_text.Rows.of(text, element, x.shape, along)
    channel = [f"d{rows.along}"]
    parameters = [Operand(text.array(n, element, 1), channel) for n in names]

    def body(x: Value, mean: Value, variance: Value, *others: Value) -> Value:
        others = others[: row_text.OLD]
        positive = text.binary("add", variance, text.constant(eps, x.element))
        root = text.unary("rsqrt", positive)
        scale = text.binary("mul", root, others[0]) if has_weight else root
        value = text.binary("mul", text.binary("sub", x, mean), scale)
        return text.binary("add", value, others[-1]) if has_bias else value

    rows.each(body, rows.result(element, x.shape, along), *parameters)
    return Recipe(text, x.shape, element.numpy)


def _prepare_groups(
    arrays: tuple[Memory, ...],
    has_weight: bool,
    has_bias: bool,
    eps: float,
    about: int | None,
    *,
    name: str,
) -> Recipe:
    """Norms by statistics of x; ``about``: the number of groups, or the channels' axis.

    In the text x is (n, groups, channels of one, positions), or (before, channels,
    after) for a batch norm, and operands of another shape are seen through views.
    """
    x, *more = arrays
    names = _names(has_weight, has_bias)
    element = one_element(arrays, ["x", *names], name)
    element_of(x.dtype, function=name, argument="x", kinds="f")
    least = 1 if name == "batch_norm" else 2 if name == "group_norm" else 3
    require_rank(x, range(least, 33), function=name, argument="x")
    is_batch = name == "batch_norm"
    channel = axis_of(about, x.ndim) if is_batch else 1
    channels = x.shape[channel]
    count = channels if name == "instance_norm" or is_batch else about
    if not isinstance(count, int) or (channels and (count < 1 or channels % count)):
        hint = f"Pass a divisor of {channels}, the number of channels"
        raise errors.InvalidOption(name="num_groups", value=about, hint=hint)
    for array, argument in zip(more, names, strict=True):
        require_shape(array, (channels,), function=name, argument=argument)
    if is_batch:
        shape = (prod(x.shape[:channel]), channels, prod(x.shape[channel + 1 :]))
        own, at, along, also = (channels,), ["d1"], 2, (0,)
    else:
        own = (count, channels // max(count, 1))
        shape, at = (x.shape[0], *own, prod(x.shape[2:])), ["d1", "d2"]
        along, also = 3, (2,)
    text = Text(name=name)
    source = text.array("x", element, len(shape))
    rows = row_text.Rows(text, source, along, element.computed, also)
    scale, shift = (
        Operand(text.array(argument, element, len(own)), at) if there else None
        for argument, there in (("weight", has_weight), ("bias", has_bias))
    )
    out = rows.whole(text.array("out", element, len(shape)))
    row_text.Norm(rows, eps, centred=True, scale=scale, shift=shift).write(out)
    views = [_reshaped(each) for each in (shape, *[own] * len(more))]
    return Recipe(text, x.shape, element.numpy, views=views, inside=shape)


def _reshaped(shape: tuple[int, ...]) -> View:
    return lambda array: array.reshape(shape)


def _prepare_normalize(
    arrays: tuple[Memory, ...], p: float, axis: int, eps: float
) -> Recipe:
    (x,) = arrays
    element = element_of(x.dtype, function="normalize", argument="x", kinds="f")
    along, text = axis_of(axis, x.ndim), Text(name="normalize")
    rows = row_text.Rows.of(text, element, x.shape, along)
    row_text.normalize(rows, rows.result(element, x.shape, along), p, eps)
    return Recipe(text, x.shape, element.numpy)


NORMS = {
    name: Kernel(name, ("x", "weight or bias", "bias"), _prepare)
    for name in ("layer_norm", "rms_norm")
}
BATCH = Kernel(
    "batch_norm",
    ("x", "running_mean", "running_var", "weight or bias", "bias"),
    _prepare_batch_norm,
)
GROUPS = {
    name: Kernel(
        name, ("x", "weight or bias", "bias"), partial(_prepare_groups, name=name)
    )
    for name in ("batch_norm", "group_norm", "instance_norm")
}
NORMALIZE = Kernel("normalize", ("x",), _prepare_normalize)
