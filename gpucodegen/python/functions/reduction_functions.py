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


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a reduction with NumPy's arguments."""

    c: Context
    node: ast.AST
    array: Bound
    axis: Bound = None
    dtype: Bound = None
    keepdims: Bound = None

    @property
    def whole(self) -> Lazy:
        return lazy(array_given(self.c, self.node, self.array))

    @property
    def over(self) -> Over:
        return _over(self.c, self.node, self.whole, self.axis, self.keepdims)

    def reduced(self, reduction: Reduction, whole: Lazy, dtype: Any = None) -> Bound:
        return self.over.reduced(self.c.b, reduction, whole, dtype)

    def kinds_of_mean(self) -> tuple[np.dtype[Any], np.dtype[Any]]:
        """The dtype of the sum and that of the mean."""
        wide, result = accumulator(self.whole.kind), result_of_mean(self.whole.kind)
        if self.dtype is None:
            return wide, result
        wide = dtype_given(self.c, self.node, self.dtype, wide)
        return wide, wide


def _rule(compute: Callable[[Call], Bound]) -> Rule:
    """A function of an array, ``axis=`` and ``keepdims=``."""

    def rule(
        c: Context,
        node: ast.AST,
        array: Bound,
        axis: Bound = None,
        *,
        keepdims: Bound = None,
    ) -> Bound:
        return compute(Call(c, node, array, axis, keepdims=keepdims))

    return rule


def _rule_with_dtype(compute: Callable[[Call], Bound]) -> Rule:
    """A function that takes ``dtype=``, too."""

    def rule(
        c: Context,
        node: ast.AST,
        array: Bound,
        axis: Bound = None,
        dtype: Bound = None,
        *,
        keepdims: Bound = None,
    ) -> Bound:
        return compute(Call(c, node, array, axis, dtype, keepdims))

    return rule


def _reduced(reduction: Reduction) -> Rule:
    def reduced(call: Call) -> Bound:
        whole, dtype = call.whole, call.dtype
        if dtype is not None:
            dtype = dtype_given(call.c, call.node, dtype, whole.dtype)
        return call.reduced(reduction, whole, dtype)

    return _rule_with_dtype(reduced)


def _without_dtype(reduction: Reduction) -> Rule:
    return _rule(lambda call: call.reduced(reduction, call.whole))


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


def _mean(call: Call) -> Bound:
    c, whole, (wide, result) = call.c, call.whole, call.kinds_of_mean()
    total = call.reduced(SUM, cast(whole, wide))
    made = _ratio(c, call.node, total, call.over.count(c.b, whole))
    return _rounded(c, made, result)


def _variance(
    c: Context,
    node: ast.AST,
    array: Bound,
    axis: Bound = None,
    dtype: Bound = None,
    ddof: Bound = None,
    keepdims: Bound = None,
) -> Bound:
    """The mean of squared differences from the mean, with ``n - ddof`` as divisor."""
    call = Call(c, node, array, axis, dtype, keepdims)
    whole, over, (wide, result) = call.whole, call.over, call.kinds_of_mean()
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

    def place_of(call: Call) -> Bound:
        c, node, whole = call.c, call.node, call.whole
        rank = len(whole.extents)
        axes = tuple(range(rank))
        if call.axis is not None:
            axes = (axis_given(c, node, rank, call.axis),)
        over = Over(axes, flag_given(c, node, call.keepdims, "keepdims="))
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

    return _rule(place_of)


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


def _count_nonzero(call: Call) -> Bound:
    is_there = cast(call.whole, np.dtype(bool))
    return call.reduced(SUM, cast(is_there, np.dtype("i8")))


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
    np.mean: _rule_with_dtype(_mean),
    np.var: _variance,
    np.std: _deviation,
    np.argmin: _place_of(SMALLEST),
    np.argmax: _place_of(LARGEST),
    np.cumsum: _running(np.add),
    np.cumprod: _running(np.multiply),
    np.count_nonzero: _rule(_count_nonzero),
    np.ptp: _range,
}
