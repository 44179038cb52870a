"""NumPy's reductions over axes: sums, extremes, means, variances and running sums."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from gpucodegen.python.elementwise import apply, kinds_of
from gpucodegen.python.functions.arguments import (
    array_given,
    axes_given,
    axis_given,
    dtype_given,
    flag_given,
    number_given,
)
from gpucodegen.python.functions.shapes import raveled
from gpucodegen.python.nests import nest
from gpucodegen.python.operators import elementwise
from gpucodegen.python.range_checks import convert
from gpucodegen.python.reductions import LARGEST, SMALLEST, SUM, Reduction
from gpucodegen.python.scalars import Scalar, chosen, integers, known
from gpucodegen.python.types import Kind, category, dtype_of, is_python
from gpucodegen.records import dataclass

Rule = Callable[..., Bound]
F4, F8, I8 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")


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
    a: Bound
    axis: Bound = None
    dtype: Bound = None
    keepdims: Bound = None
    initial: Bound = None
    where: Bound = None
    ddof: Bound = None

    @property
    def whole(self) -> Lazy:
        is_number = isinstance(self.a, Scalar)
        return lazy(self.a if is_number else array_given(self.c, self.node, self.a))

    @property
    def over(self) -> Over:
        return _over(self.c, self.node, self.whole, self.axis, self.keepdims)

    def reduced(self, reduction: Reduction, whole: Lazy, dtype: Any = None) -> Bound:
        """The reduction of the elements that ``where`` selects, and of ``initial``."""
        if self.initial is not None:
            start = number_given(self.c, self.node, self.initial)
            reduction = Reduction(reduction.ufunc, start)
        if self.where is not None and reduction.start is None:
            hint = "Give initial=, too"
            raise self.c.refuse(self.node, "an extreme with where= only", hint)
        kind = dtype or reductions.result_dtype(reduction, whole.kind)
        if self.where is not None:
            neutral = Reduction(reduction.ufunc, reduction.ufunc.identity)
            number = (reduction if self.initial is not None else neutral).starts_at(
                kind
            )
            if neutral.start is not None:
                number = neutral.starts_at(kind)
            whole = self.selected(cast(whole, kind), number)
        return self.over.reduced(self.c.b, reduction, whole, dtype)

    def selected(self, whole: Lazy, other: Scalar) -> Lazy:
        """The elements where ``where`` holds, and a number elsewhere."""
        extents, parts = broadcast([lazy(self.where), whole])

        def body(b: OperationList, v: Sequence[Scalar]) -> Scalar:
            holds = convert(b, v[0], bool).ssa(b)
            no = convert(b, other, whole.kind).ssa(b)
            return Scalar(whole.kind, chosen(b, holds, v[1].ssa(b), no))

        return composed(whole.kind, extents, parts, body)

    def count(self) -> Any:
        """The number of elements of which each result is made."""
        if self.where is None:
            return self.over.count(self.c.b, self.whole)
        one = Scalar(I8, constant=1)
        ones = composed(I8, self.whole.extents, [self.whole], lambda _, __: one)
        return self.over.reduced(self.c.b, SUM, self.selected(ones, known(0)))

    def kinds_of_mean(self) -> tuple[np.dtype[Any], np.dtype[Any]]:
        """The dtype of the sum and that of the mean."""
        wide, result = accumulator(self.whole.kind), result_of_mean(self.whole.kind)
        if self.dtype is None:
            return wide, result
        wide = dtype_given(self.c, self.node, self.dtype, wide)
        return wide, wide


def _rule(compute: Callable[[Call], Bound], words: str) -> Rule:
    """A function of an array and of arguments of these names, in order."""
    names = words.split()

    def rule(
        c: Context, node: ast.AST, a: Bound, *values: Bound, **named: Bound
    ) -> Bound:
        given = {**dict(zip(names, values, strict=False)), **named}
        others = sorted({*given} - {*names})
        if others or len(values) > len(names):
            what = ", ".join(f"`{name}=`" for name in others) or "these arguments"
            hint = f"Pass at most {', '.join(f'{name}=' for name in names)}"
            raise c.refuse(node, f"{what} of this reduction", hint)
        return compute(Call(c, node, a, **given))

    return rule


def _reduced(reduction: Reduction, words: str = "") -> Rule:
    def reduced(call: Call) -> Bound:
        whole, dtype = call.whole, call.dtype
        if dtype is not None:
            dtype = dtype_given(call.c, call.node, dtype, whole.dtype)
        return call.reduced(reduction, whole, dtype)

    return _rule(reduced, words or "axis dtype keepdims initial where")


def _without_dtype(reduction: Reduction) -> Rule:
    return _reduced(reduction, "axis keepdims initial where")


def reduce(
    c: Context, node: ast.AST, ufunc: np.ufunc, a: Bound, **named: Bound
) -> Bound:
    """``ufunc.reduce``, along the first axis by default."""
    is_extreme = ufunc in (np.minimum, np.maximum)
    if ufunc.identity is None and not is_extreme:
        hint = "Reduce with add, multiply, minimum, maximum, or a logical function"
        raise c.refuse(node, f"`{ufunc.__name__}.reduce`", hint)
    given = {"axis": known(0)} | named
    return _reduced(Reduction(ufunc, ufunc.identity))(c, node, a, **given)


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


def _ratio(c: Context, node: ast.AST, total: Bound, count: Any) -> Bound:
    kind = total.kind if isinstance(total, Scalar) else total.dtype
    divisor = _rounded(c, count, real_of(kind))
    return elementwise(c, node, np.true_divide, [total, divisor], "a mean")


def _mean(call: Call) -> Bound:
    c, whole, (wide, result) = call.c, call.whole, call.kinds_of_mean()
    total = call.reduced(SUM, cast(whole, wide))
    return _rounded(c, _ratio(c, call.node, total, call.count()), result)


def _variance(call: Call) -> Bound:
    """The mean of squared differences from the mean, with ``n - ddof`` as divisor."""
    c, node, (wide, result) = call.c, call.node, call.kinds_of_mean()
    whole = cast(call.whole, wide)
    kept = replace(call, keepdims=known(True))
    total = kept.reduced(SUM, whole)
    average = in_memory(c.b, lazy(_ratio(c, node, total, kept.count())))
    rest = elementwise(c, node, np.subtract, [whole, average], "`var`")
    squares = squared_length(c, node, rest)
    if wide.kind == "c":
        result = real_of(result)
    freedom = known(0) if call.ddof is None else number_given(c, node, call.ddof)
    left = elementwise(c, node, np.subtract, [call.count(), freedom], "`var`")
    divisor = elementwise(c, node, np.maximum, [left, known(0)], "`var`")
    return _rounded(
        c, _ratio(c, node, call.reduced(SUM, lazy(squares)), divisor), result
    )


def squared_length(c: Context, node: ast.AST, value: Lazy) -> Any:
    """``|x| ** 2``."""
    other = elementwise(c, node, np.conjugate, [value], "`var`")
    square = lazy(elementwise(c, node, np.multiply, [value, other], "`var`"))
    return square if square.dtype.kind != "c" else cast(square, real_of(square.dtype))


def _deviation(call: Call) -> Bound:
    return elementwise(call.c, call.node, np.sqrt, [_variance(call)], "`std`")


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
        kind = I8
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

    return _rule(place_of, "axis keepdims")


def running(
    c: Context,
    node: ast.AST,
    ufunc: np.ufunc,
    a: Bound,
    axis: Bound,
    dtype: Bound = None,
) -> Bound:
    """``ufunc.accumulate``: each element with all before it along an axis."""
    given = array_given(c, node, a)
    over = axis_given(c, node, len(given.extents), axis)
    own = lazy(given).kind
    is_sum = ufunc in (np.add, np.multiply)
    kind = (
        reductions.result_dtype(SUM, own) if is_sum else kinds_of(ufunc, [own] * 2)[1]
    )
    made = copied(c.b, given, dtype_given(c, node, dtype, kind))
    first = [known(int(d == over)) for d in range(len(made.extents))]

    def body(b: OperationList, at: Sequence[Scalar]) -> None:
        before = integers(b, "sub", at[over], known(1))
        earlier = [before if d == over else i for d, i in enumerate(at)]
        pair = [made.element(b, place) for place in (earlier, at)]
        made.put(b, at, apply(b, ufunc, pair))

    nest(c.b, made.extents, body, first)
    return made


def _running(ufunc: np.ufunc) -> Rule:
    """``cumsum`` and ``cumprod``, which flatten an array without ``axis=``."""

    def rule(
        c: Context, node: ast.AST, a: Bound, axis: Bound = None, dtype: Bound = None
    ) -> Bound:
        if axis is None:
            a, axis = raveled(c, node, a), known(0)
        return running(c, node, ufunc, a, axis, dtype)

    return rule


def _count_nonzero(call: Call) -> Bound:
    is_there = cast(call.whole, np.dtype(bool))
    return call.reduced(SUM, cast(is_there, I8))


def _range(call: Call) -> Bound:
    """``ptp``."""
    ends = [call.reduced(r, call.whole) for r in (LARGEST, SMALLEST)]
    return elementwise(call.c, call.node, np.subtract, ends, "`ptp`")


def _skipping_nan(rule: Rule) -> Rule:
    """The same reduction of the elements that are not NaN."""

    def skipping(
        c: Context, node: ast.AST, a: Bound, *values: Bound, **named: Bound
    ) -> Bound:
        kind = Call(c, node, a).whole.kind
        if category(kind) in "fc":
            is_nan = elementwise(c, node, np.isnan, [a], "`isnan`")
            named["where"] = elementwise(c, node, np.logical_not, [is_nan], "`not`")
        return rule(c, node, a, *values, **named)

    return skipping


def _extreme_number(ufunc: np.ufunc, reduction: Reduction) -> Rule:
    """``nanmin`` and ``nanmax``: NaN where all elements are."""

    def extreme(call: Call) -> Bound:
        if category(call.whole.kind) != "f":
            return call.reduced(reduction, call.whole)
        reductions.refuse_empty(call.c.b, call.whole, call.over.axes)
        return call.reduced(Reduction(ufunc, np.nan), call.whole)

    return _rule(extreme, "axis keepdims")


_PLAIN: dict[Any, Rule] = {
    np.sum: _reduced(SUM),
    np.prod: _reduced(reductions.PRODUCT),
    **dict.fromkeys((np.min, np.amin), _without_dtype(SMALLEST)),
    **dict.fromkeys((np.max, np.amax), _without_dtype(LARGEST)),
    np.any: _without_dtype(reductions.ANY),
    np.all: _without_dtype(reductions.ALL),
    np.mean: _rule(_mean, "axis dtype keepdims where"),
    np.var: _rule(_variance, "axis dtype ddof keepdims where"),
    np.std: _rule(_deviation, "axis dtype ddof keepdims where"),
    np.argmin: _place_of(SMALLEST),
    np.argmax: _place_of(LARGEST),
    np.cumsum: _running(np.add),
    np.cumprod: _running(np.multiply),
    np.count_nonzero: _rule(_count_nonzero, "axis keepdims"),
    np.ptp: _rule(_range, "axis keepdims"),
}
FUNCTIONS: dict[Any, Rule] = _PLAIN | {
    **{
        getattr(np, f"nan{name}"): _skipping_nan(_PLAIN[getattr(np, name)])
        for name in "sum prod mean var std".split()
    },
    np.nanmin: _extreme_number(np.fmin, SMALLEST),
    np.nanmax: _extreme_number(np.fmax, LARGEST),
}
