"""NumPy's reductions over axes: sums, extremes, means, variances and running sums."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import reductions
from gpucodegen.python.arrays import (
    Lazy,
    broadcast,
    cast,
    composed,
    copied,
    in_memory,
    lazy,
    positions,
)
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import apply
from gpucodegen.python.functions.arguments import (
    array_given,
    axes_given,
    axis_given,
    dtype_given,
    flag_given,
    integer_given,
)
from gpucodegen.python.nests import nest
from gpucodegen.python.operators import elementwise
from gpucodegen.python.reductions import LARGEST, SMALLEST, SUM, Reduction
from gpucodegen.python.scalars import Scalar, chosen, convert, integers, known
from gpucodegen.python.types import Kind, category, dtype_of, is_python

Rule = Callable[..., Bound]
F4, F8 = np.dtype("f4"), np.dtype("f8")


@dataclass(frozen=True, slots=True)
class Over:
    """The axes of a reduction, and whether the result keeps them as extents of 1."""

    axes: tuple[int, ...]
    keepdims: bool

    def count(self, b: OperationList, array: Lazy) -> Scalar:
        """The number of elements of which each result is made."""
        found = known(1)
        for d in self.axes:
            found = integers(b, "mul", found, array.extents[d])
        return found

    def reduced(
        self, b: OperationList, reduction: Reduction, array: Lazy, dtype: Any = None
    ) -> Any:
        return reductions.reduced(
            b, reduction, array, self.axes, keepdims=self.keepdims, dtype=dtype
        )


def _over(c: Context, node: ast.AST, array: Lazy, axis: Bound, keepdims: Bound) -> Over:
    axes = axes_given(c, node, len(array.extents), axis)
    return Over(axes, flag_given(c, node, keepdims, "keepdims="))


def _reduced(reduction: Reduction) -> Rule:
    def rule(
        c: Context,
        node: ast.AST,
        array: Bound,
        axis: Bound = None,
        dtype: Bound = None,
        *,
        keepdims: Bound = None,
    ) -> Bound:
        whole = lazy(array_given(c, node, array))
        kind = None if dtype is None else dtype_given(c, node, dtype, whole.dtype)
        over = _over(c, node, whole, axis, keepdims)
        return over.reduced(c.b, reduction, whole, kind)

    return rule


def _without_dtype(reduction: Reduction) -> Rule:
    full = _reduced(reduction)

    def rule(
        c: Context,
        node: ast.AST,
        array: Bound,
        axis: Bound = None,
        *,
        keepdims: Bound = None,
    ) -> Bound:
        return full(c, node, array, axis, keepdims=keepdims)

    return rule


def accumulator(kind: Kind) -> np.dtype[Any]:
    """The dtype in which NumPy adds up a mean."""
    dtype = dtype_of(kind)
    if dtype.kind in "biu":
        return F8
    return F4 if dtype == np.dtype("f2") else dtype


def result_of_mean(kind: Kind) -> np.dtype[Any]:
    return F8 if category(kind) in "biu" else dtype_of(kind)


def _rounded(c: Context, value: Bound, dtype: np.dtype[Any]) -> Bound:
    if isinstance(value, Scalar):
        return convert(c.b, value, dtype)
    return cast(value, dtype)


def real_of(dtype: Any) -> Any:
    """The kind of the real part of such numbers."""
    if is_python(dtype) or dtype.kind != "c":
        return dtype
    return np.dtype(dtype.char.lower())


def _ratio(c: Context, node: ast.AST, total: Bound, count: Scalar) -> Bound:
    kind = total.kind if isinstance(total, Scalar) else total.dtype
    real = real_of(kind)
    return elementwise(
        c, node, np.true_divide, [total, convert(c.b, count, real)], "a mean"
    )


def _mean(
    c: Context,
    node: ast.AST,
    array: Bound,
    axis: Bound = None,
    dtype: Bound = None,
    *,
    keepdims: Bound = None,
) -> Bound:
    whole = lazy(array_given(c, node, array))
    over = _over(c, node, whole, axis, keepdims)
    wide = accumulator(whole.kind)
    result = result_of_mean(whole.kind)
    if dtype is not None:
        wide = result = dtype_given(c, node, dtype, wide)
    total = over.reduced(c.b, SUM, cast(whole, wide))
    made = _ratio(c, node, total, over.count(c.b, whole))
    return _rounded(c, made, result)


def _variance(
    c: Context,
    node: ast.AST,
    array: Bound,
    axis: Bound = None,
    dtype: Bound = None,
    *,
    ddof: Bound = None,
    keepdims: Bound = None,
) -> Bound:
    """The mean of squared differences from the mean, with ``n - ddof`` as divisor."""
    whole = lazy(array_given(c, node, array))
    over = _over(c, node, whole, axis, keepdims)
    wide = accumulator(whole.kind)
    result = result_of_mean(whole.kind)
    if dtype is not None:
        wide = result = dtype_given(c, node, dtype, wide)
    count = over.count(c.b, whole)
    total = Over(over.axes, keepdims=True).reduced(c.b, SUM, cast(whole, wide))
    average = in_memory(c.b, lazy(_ratio(c, node, total, count)))
    rest = elementwise(c, node, np.subtract, [cast(whole, wide), average], "`var`")
    squares = squared_length(c, node, rest)
    if wide.kind == "c":
        result = real_of(result)
    freedom = known(0) if ddof is None else integer_given(c, node, ddof, "ddof=")
    divisor = apply(c.b, np.maximum, [integers(c.b, "sub", count, freedom), known(0)])
    found = over.reduced(c.b, SUM, lazy(squares))
    return _rounded(c, _ratio(c, node, found, convert(c.b, divisor, int)), result)


def squared_length(c: Context, node: ast.AST, value: Lazy) -> Any:
    """``|x| ** 2``."""
    other = elementwise(c, node, np.conjugate, [value], "`var`")
    square = lazy(elementwise(c, node, np.multiply, [value, other], "`var`"))
    return square if square.dtype.kind != "c" else cast(square, real_of(square.dtype))


def _deviation(c: Context, node: ast.AST, *given: Bound, **named: Bound) -> Bound:
    return elementwise(c, node, np.sqrt, [_variance(c, node, *given, **named)], "`std`")


def _place_of(reduction: Reduction) -> Rule:
    """``argmin`` and ``argmax``: the first such element, or the first NaN."""

    def rule(
        c: Context,
        node: ast.AST,
        array: Bound,
        axis: Bound = None,
        *,
        keepdims: Bound = None,
    ) -> Bound:
        whole = lazy(array_given(c, node, array))
        rank = len(whole.extents)
        axes = (
            tuple(range(rank)) if axis is None else (axis_given(c, node, rank, axis),)
        )
        over = Over(axes, flag_given(c, node, keepdims, "keepdims="))
        best = Over(axes, keepdims=True).reduced(c.b, reduction, whole)
        place: Lazy = lazy(known(0))
        for d in axes:
            scaled = elementwise(c, node, np.multiply, [place, whole.extents[d]], "")
            step = positions(whole.extents, d)
            place = elementwise(c, node, np.add, [scaled, step], "`argmin`")
        kind = np.dtype("i8")
        extents, parts = broadcast([whole, lazy(best), cast(place, kind)])
        last = known(int(np.iinfo(kind).max))

        def body(b: OperationList, v: Sequence[Scalar]) -> Scalar:
            is_best = apply(b, np.equal, [v[0], v[1]])
            if category(v[0].kind) == "f":
                is_nan = apply(b, np.not_equal, [v[0], v[0]])
                is_best = apply(b, np.logical_or, [is_best, is_nan])
            numbers = [convert(b, x, kind).ssa(b) for x in (v[2], last)]
            return Scalar(kind, chosen(b, is_best.ssa(b), *numbers))

        return over.reduced(c.b, SMALLEST, composed(kind, extents, parts, body))

    return rule


def _running(ufunc: np.ufunc) -> Rule:
    """``cumsum`` and ``cumprod``: each element with all before it along an axis."""

    def rule(
        c: Context, node: ast.AST, array: Bound, axis: Bound = None, dtype: Bound = None
    ) -> Bound:
        given = array_given(c, node, array)
        if axis is None and len(given.extents) != 1:
            hint = "Give axis=, or flatten the array first"
            raise c.refuse(node, "a running sum of all axes", hint)
        over = 0 if axis is None else axis_given(c, node, len(given.extents), axis)
        kind = reductions.result_dtype(SUM, lazy(given).kind)
        if dtype is not None:
            kind = dtype_given(c, node, dtype, kind)
        made = copied(c.b, given, kind)
        first = [known(int(d == over)) for d in range(len(made.extents))]

        def body(b: OperationList, at: Sequence[Scalar]) -> None:
            before = integers(b, "sub", at[over], known(1))
            earlier = [before if d == over else i for d, i in enumerate(at)]
            pair = [made.element(b, place) for place in (earlier, at)]
            made.put(b, at, apply(b, ufunc, pair))

        nest(c.b, made.extents, body, first)
        return made

    return rule


def _count_nonzero(
    c: Context,
    node: ast.AST,
    array: Bound,
    axis: Bound = None,
    *,
    keepdims: Bound = None,
) -> Bound:
    whole = lazy(array_given(c, node, array))
    over = _over(c, node, whole, axis, keepdims)
    return over.reduced(c.b, SUM, cast(cast(whole, np.dtype(bool)), np.dtype("i8")))


def _range(c: Context, node: ast.AST, array: Bound, axis: Bound = None) -> Bound:
    """``ptp``."""
    ends = [_without_dtype(r)(c, node, array, axis) for r in (LARGEST, SMALLEST)]
    return elementwise(c, node, np.subtract, ends, "`ptp`")


FUNCTIONS: dict[Any, Rule] = {
    np.sum: _reduced(SUM),
    np.prod: _reduced(reductions.PRODUCT),
    **dict.fromkeys((np.min, np.amin), _without_dtype(SMALLEST)),
    **dict.fromkeys((np.max, np.amax), _without_dtype(LARGEST)),
    np.any: _without_dtype(reductions.ANY),
    np.all: _without_dtype(reductions.ALL),
    np.mean: _mean,
    np.var: _variance,
    np.std: _deviation,
    np.argmin: _place_of(SMALLEST),
    np.argmax: _place_of(LARGEST),
    np.cumsum: _running(np.add),
    np.cumprod: _running(np.multiply),
    np.count_nonzero: _count_nonzero,
    np.ptp: _range,
}
