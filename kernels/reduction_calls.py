"""Prepares calls of reductions: result element types, and their MLIR."""

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
"""The element of a result, and further parameters of its text."""


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
    """A recipe; ``typed`` gives the element of the result, ``write`` its text."""
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
    """Refuse an extremum over no elements."""
    if all(shape[axis] for axis in axes):
        return
    raise errors.WrongArgumentType(
        function=name,
        argument="x",
        expected="an array with elements along the axes that are reduced",
        actual=f"one of shape {shape}",
    )


def _summed(element: Element, dtype: Any) -> Typing:
    """As in NumPy: sums of integers have 64 bits."""
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
