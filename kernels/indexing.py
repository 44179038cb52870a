"""Indexed access: take, scatter_add, bincount and histogram."""

from __future__ import annotations

import operator
from math import isfinite
from typing import Any, Unpack

import numpy as np

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe
from gpucodegen.kernels.elements import F64, I64, INDEX, Element, element_of
from gpucodegen.kernels.function_text import Memref, Text
from gpucodegen.kernels.merged_axes import around, axis_of
from gpucodegen.kernels.products.matmul import one_element
from gpucodegen.kernels.scalar_text import Value


def take(
    x: Any,
    indices: Any,
    axis: int | None = None,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """The elements, or rows, at indices along an axis, as ``np.take``.

    ``indices`` is an array of integers of any shape; negative ones count from the end.
    Without an axis, indices refer to the flattened row-major array. An index out of
    bounds is an error (AccessOutOfBounds). Other errors: WrongDtype, InvalidOption.

    >>> import numpy as np
    >>> take(np.array([[1, 2, 3], [4, 5, 6]]), np.array([2, 0, -1]), axis=1)
    array([[3, 1, 3],
           [6, 4, 6]])
    """
    return TAKE((x, indices), out, target, axis, **how)


def scatter_add(
    x: Any,
    indices: Any,
    updates: Any,
    axis: int = 0,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """A copy of an array with updates added at indices along an axis.

    ``indices`` has one axis, and ``updates`` the shape of ``x`` except for the number
    of indices along ``axis``; indices may repeat, as for torch's ``index_add``, and are
    counted and checked as for `take`. Each sum adds its updates in order on the CPU,
    and in any order on a GPU. Floats of 16 bits and less are rounded after every
    update.

    >>> import numpy as np
    >>> scatter_add(np.zeros(3), np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]))
    array([4., 0., 2.])
    """
    return SCATTER((x, indices, updates), out, target, axis, target, **how)


def bincount(
    x: Any, length: int, *, out: Any = None, target: str = "auto", **how: Unpack[How]
) -> Any:
    """The count of each of 0, 1, ..., ``length`` - 1 among integers, as int64.

    Numbers out of range, also negative ones, are an error (AccessOutOfBounds).

    >>> import numpy as np
    >>> bincount(np.array([1, 3, 1]), 4)
    array([0, 2, 0, 1])
    """
    return BINCOUNT((x,), out, target, _length("length", length), target, **how)


def histogram(
    x: Any,
    bins: int,
    range: tuple[float, float],  # noqa: A002 - the name that NumPy has for it
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """The count of numbers in equal bins, as int64: ``np.histogram(...)[0]``.

    A bin includes its lower end, and the last one its upper end, too; numbers outside
    of ``range``, and NaN, are in none. The bin is ``floor((x - low) * scale)`` in f64
    (complex numbers are refused), so a number at an edge that is no binary fraction may
    be counted in the adjacent bin.

    >>> import numpy as np
    >>> histogram(np.array([0.0, 0.1, 0.6, 1.0, 7.0]), 2, (0.0, 1.0))
    array([2, 2])
    """
    low, high = _ends(range)
    return HISTOGRAM((x,), out, target, _length("bins", bins), low, high, target, **how)


def _length(name: str, wish: object) -> int:
    try:
        count = operator.index(wish)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if count < 1:
        hint = "Pass an integer >= 1"
        raise errors.InvalidOption(name=name, value=wish, hint=hint)
    return count


def _ends(wish: Any) -> tuple[float, float]:
    try:
        low, high = map(float, wish)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if low == high and isfinite(low):  # as NumPy does
        return low - 0.5, high + 0.5
    if low < high and isfinite(high - low):
        return low, high
    hint = "Pass two finite numbers, the smaller one first"
    raise errors.InvalidOption(name="range", value=wish, hint=hint)


def _places(array: Memory, function: str, argument: str = "indices") -> Element:
    kinds = "iu"
    return element_of(array.dtype, function=function, argument=argument, kinds=kinds)


def _place(text: Text, value: Value, extent: str) -> str:
    """An index; negative values count from the end."""
    index = text.cast(text.cast(value, I64), INDEX)
    if value.element.kind == "u":
        return index.name
    zero = text.constant(0, INDEX)
    wrapped = text.binary("add", index, Value(extent, INDEX))
    return text.select(text.compared("lt", index, zero), wrapped, index).name


def _nest(
    text: Text, extents: list[str], body: Any, *places: str, parallel: bool = False
) -> None:
    """A loop for each extent, around ``body`` of all indices."""
    if len(places) == len(extents):
        body(*places)
        return
    with text.loop(0, extents[len(places)], parallel=parallel) as index:
        _nest(text, extents, body, *places, index, parallel=parallel)


def _loaded(text: Text, memref: Memref, *at: str) -> Value:
    """Load an element at any indices, in its stored type."""
    name = text.fresh()
    where = f"{memref.name}[{', '.join(at)}] : {memref.type}"
    text.line(f"{name} = memref.load {where}")
    return Value(name, memref.element)


def _prepare_take(arrays: tuple[Memory, ...], axis: int | None) -> Recipe:
    x, indices = arrays
    element = element_of(x.dtype, function="take", argument="x")
    kind = _places(indices, "take")
    is_flat = axis is None
    shape = (x.size,) if is_flat else x.shape
    along, text = 0 if is_flat else axis_of(axis, x.ndim), Text(name="take")
    source = text.array("x", element, len(shape))
    view = text.collapsed(source, around(shape, along))
    wanted = text.array("indices", kind, 1)
    sizes = (*shape[:along], indices.size, *shape[along + 1 :])
    out = text.array("out", element, len(sizes))
    groups = around(sizes, along)
    result = text.collapsed(out, groups)
    at = groups.index([along])

    def body(*places: str) -> None:
        place = text.load(wanted, places[at])
        there = list(places)
        there[at] = _place(text, place, text.dim(view, at))
        where = f"{result.name}[{', '.join(places)}] : {result.type}"
        text.line(f"affine.store {_loaded(text, view, *there).name}, {where}")

    _nest(text, text.dims(result), body)
    full = (*shape[:along], *indices.shape, *shape[along + 1 :])
    views = (_flat if is_flat else None), _flat
    return Recipe(text, full, element.numpy, views=views, inside=sizes)


def _flat(array: Memory) -> Memory:
    return array.reshape(-1)


def _prepare_scatter(arrays: tuple[Memory, ...], axis: int, target: str) -> Recipe:
    x, indices, updates = arrays
    name = "scatter_add"
    element = one_element((x, updates), ("x", "updates"), name)
    kind = _places(indices, name)
    along = axis_of(axis, x.ndim)
    require_rank(indices, (1,), function=name, argument="indices")
    wanted = (*x.shape[:along], indices.shape[0], *x.shape[along + 1 :])
    if tuple(updates.shape) != wanted:
        problem = f"{name}: updates of shape {updates.shape}, and not {wanted}"
        raise errors.ShapesDisagree(problem=problem)
    text = Text(name=name)
    groups = around(x.shape, along)
    parallel = _in_parallel(arrays, target, element)
    at = groups.index([along])
    start = text.array("x", element, x.ndim)
    places_ = text.array("indices", kind, 1)
    given = text.collapsed(text.array("updates", element, x.ndim), groups)
    out = text.array("out", element, x.ndim)
    inner = f"ins({start.name} : {start.type}) outs({out.name} : {out.type})"
    text.line(f"linalg.copy {inner}")
    result = text.collapsed(out, groups)

    def body(*places: str) -> None:
        there = list(places)
        there[at] = _place(text, text.load(places_, places[at]), text.dim(result, at))
        value = text.load(given, *places)
        _add(text, value, result, *there, parallel=parallel)

    _nest(text, text.dims(given), body, parallel=parallel)
    return Recipe(text, x.shape, element.numpy)


ATOMIC = {
    "float32": "addf",
    "float64": "addf",
    "int32": "addi",
    "int64": "addi",
    "uint32": "addi",
    "uint64": "addi",
}
"""Elements with parallel atomic addition, and its kind."""


def _in_parallel(arrays: tuple[Memory, ...], target: str, element: Element) -> bool:
    """Whether GPU threads add in parallel; on the CPU one thread is faster."""
    on_gpu = not isinstance(arrays[0], np.ndarray) or target not in {"cpu", "auto"}
    return on_gpu and element.dtype in ATOMIC


def _add(
    text: Text, value: Value, out: Memref, *at: str, parallel: bool = False
) -> None:
    """Add to an element at any indices."""
    if parallel:
        kind, ty = ATOMIC[out.element.dtype], out.element.mlir
        inner = f"{kind} {value.name}, {out.name}[{', '.join(at)}]"
        types = f"({ty}, {out.type}) -> {ty}"
        text.line(f"{text.fresh()} = memref.atomic_rmw {inner} : {types}")
        return
    old = _loaded(text, out, *at)
    total = text.binary("add", text.cast(old, value.element), value)
    rounded = text.cast(total, out.element)
    where = f"{out.name}[{', '.join(at)}] : {out.type}"
    text.line(f"memref.store {rounded.name}, {where}")


def _prepare_bincount(arrays: tuple[Memory, ...], length: int, target: str) -> Recipe:
    (x,) = arrays
    kind = _places(x, "bincount", "x")
    text = Text(name="bincount")
    given = text.array("x", kind, 1)
    out = text.array("out", I64, 1)
    text.fill(out, text.constant(0, I64))
    parallel = _in_parallel(arrays, target, I64)
    with text.loop(0, text.dim(given, 0), parallel=parallel) as index:
        place = text.cast(text.cast(text.load(given, index), I64), INDEX)
        _add(text, text.constant(1, I64), out, place.name, parallel=parallel)
    return Recipe(text, (length,), I64.numpy, views=(_flat,))


def _prepare_histogram(
    arrays: tuple[Memory, ...], bins: int, low: float, high: float, target: str
) -> Recipe:
    """Prepare a histogram; numbers in no bin are counted in a hidden one."""
    (x,) = arrays
    element = element_of(x.dtype, function="histogram", argument="x", kinds="fiub")
    text = Text(name="histogram")
    given, out = text.array("x", element, 1), text.array("out", I64, 1)
    counts = text.alloc(I64, [text.constant(bins + 1, INDEX).name])
    text.fill(counts, text.constant(0, I64))
    least, most = text.constant(low, F64), text.constant(high, F64)
    scale = text.constant(bins / (high - low), F64)
    parallel = _in_parallel(arrays, target, I64)
    with text.loop(0, text.dim(given, 0), parallel=parallel) as index:
        value = text.cast(text.load(given, index), F64)
        inside = text.binary(
            "and",
            text.compared("ge", value, least),
            text.compared("le", value, most),
        )
        safe = text.select(inside, value, least)
        far = text.binary("mul", text.binary("sub", safe, least), scale)
        bin_ = text.cast(text.unary("floor", far), I64)
        bin_ = text.binary("min", bin_, text.constant(bins - 1, I64))
        bin_ = text.select(inside, bin_, text.constant(bins, I64))
        place = text.cast(bin_, INDEX).name
        _add(text, text.constant(1, I64), counts, place, parallel=parallel)
    with text.loop(0, bins) as index:
        text.store(text.load(counts, index), out, index)
    return Recipe(text, (bins,), I64.numpy, views=(_flat,))


TAKE = Kernel("take", ("x", "indices"), _prepare_take)
SCATTER = Kernel("scatter_add", ("x", "indices", "updates"), _prepare_scatter)
BINCOUNT = Kernel("bincount", ("x",), _prepare_bincount)
HISTOGRAM = Kernel("histogram", ("x",), _prepare_histogram)
