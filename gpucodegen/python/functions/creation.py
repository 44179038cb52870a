"""NumPy's functions that make arrays: ranges, grids, triangles and diagonals."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import (
    Array,
    Extents,
    Lazy,
    composed,
    copied,
    lazy,
    positions,
)
from gpucodegen.python.composed import construction
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import apply
from gpucodegen.python.functions.arguments import (
    array_given,
    dtype_given,
    flag_given,
    integer_given,
    number_given,
)
from gpucodegen.python.functions.composed_functions import closure_of
from gpucodegen.python.functions.shapes import joined, with_axes_at
from gpucodegen.python.operators import elementwise
from gpucodegen.python.range_checks import convert
from gpucodegen.python.scalars import Scalar, astype, chosen, integers, known
from gpucodegen.python.types import category, dtype_of
from gpucodegen.python.types import joined as joined_kinds

Rule = Callable[..., Bound]
F8, I8 = np.dtype("f8"), np.dtype("i8")


def _each(c: Context, kind: np.dtype[Any], extents: Extents, value: Any) -> Array:
    """A new array of ``value`` of the positions of each element."""
    places = [positions(extents, d) for d in range(len(extents))]
    return copied(c.b, composed(kind, extents, places, value))


# -- ranges ----------------------------------------------------------------------------


def _range(
    c: Context,
    node: ast.AST,
    start: Bound,
    stop: Bound = None,
    step: Bound = None,
    *,
    dtype: Bound = None,
) -> Bound:
    """``arange``: ``start + i * step`` below ``stop``."""
    if stop is None:
        start, stop = known(0), start
    step = known(1) if step is None else step
    ends = [number_given(c, node, v) for v in (start, stop, step)]
    natural = np.result_type(*(dtype_of(e.kind) for e in ends))
    kind = dtype_given(c, node, dtype, natural)
    if all(category(e.kind) in "iu" for e in ends):
        first, last, by = (convert(c.b, e, int) for e in ends)
        if by.value is None and by.constant == 0:
            raise c.refuse(node, "`arange` with a step of 0", "Use another step")
        count = _ceiling(c, integers(c.b, "sub", last, first), by)
    else:
        first, last, by = (convert(c.b, e, float) for e in ends)
        rest = apply(c.b, np.subtract, [last, first])
        ratio = apply(c.b, np.ceil, [apply(c.b, np.true_divide, [rest, by])])
        count = convert(c.b, ratio, int)
    extents = (apply(c.b, np.maximum, [count, known(0)]),)
    if extents[0].value is not None:
        extents = (convert(c.b, extents[0], int),)
    work = I8 if kind.kind in "iub" and first.kind is int else kind

    def value(b: OperationList, at: Sequence[Scalar]) -> Scalar:
        pair = [astype(b, v, work) for v in (at[0], by)]
        moved = apply(b, np.multiply, pair)
        return astype(b, apply(b, np.add, [astype(b, first, work), moved]), kind)

    return _each(c, kind, extents, value)


def _ceiling(c: Context, rest: Scalar, by: Scalar) -> Scalar:
    """``ceil(rest / by)`` of integers."""
    negative = integers(c.b, "floordiv", integers(c.b, "sub", known(0), rest), by)
    return integers(c.b, "sub", known(0), negative)


def _line(
    c: Context,
    node: ast.AST,
    start: Bound,
    stop: Bound,
    num: Bound = None,
    endpoint: Bound = None,
    *,
    dtype: Bound = None,
) -> Bound:
    """``linspace``: the last element is ``stop`` itself."""
    ends = [number_given(c, node, v) for v in (start, stop)]
    closed = endpoint is None or flag_given(c, node, endpoint, "endpoint=")
    count = known(50) if num is None else integer_given(c, node, num, "num=")
    common = dtype_of(joined_kinds(ends[0].kind, ends[1].kind))
    work = F8 if common.kind in "iub" else common
    kind = dtype_given(c, node, dtype, work)
    first, last = (convert(c.b, e, work) for e in ends)
    steps = integers(c.b, "sub", count, known(int(closed)))
    divisor = convert(c.b, steps, work)
    delta = apply(c.b, np.subtract, [last, first])
    step = apply(c.b, np.true_divide, [delta, divisor])

    def value(b: OperationList, at: Sequence[Scalar]) -> Scalar:
        moved = apply(b, np.multiply, [convert(b, at[0], work), step])
        is_first = apply(b, np.equal, [at[0], known(0)]).ssa(b)
        found = apply(b, np.add, [moved, first]).ssa(b)
        found = chosen(b, is_first, first.ssa(b), found)  # 0 * (0 / 0) is NaN
        if closed:
            is_last = apply(b, np.equal, [at[0], steps])
            is_second = apply(b, np.greater, [at[0], known(0)])
            both = apply(b, np.logical_and, [is_last, is_second]).ssa(b)
            found = chosen(b, both, last.ssa(b), found)
        number = Scalar(work, found)
        if kind.kind in "iu":
            number = apply(b, np.floor, [number])
        return convert(b, number, kind)

    return _each(c, kind, (count,), value)


def grid(c: Context, node: ast.AST, ranges: Sequence[Any], *, is_open: bool) -> Bound:
    """``mgrid`` and ``ogrid``: ``ranges`` are start, stop and step of each slice."""
    axes: list[Any] = []
    for start, stop, step in ranges:
        first = known(0) if start is None else start
        if isinstance(step, Scalar) and category(step.kind) == "c":
            size = convert(c.b, apply(c.b, np.absolute, [step]), int)
            axes.append(_line(c, node, first, stop, size))
        else:
            axes.append(_range(c, node, first, stop, step))
    if len(axes) == 1:
        return axes[0]
    if not is_open:
        kind = np.result_type(*(axis.dtype for axis in axes))
        callee = closure_of(construction.meshgrid)
        planes = c.callees.inline(c, node, callee, (axes, {"indexing": "ij"}))
        wholes = [with_axes_at(c, node, plane, known(0)) for plane in planes]
        return joined(c, node, wholes, known(0), kind)
    rank = len(axes)
    return tuple(
        Lazy(
            axis.dtype,
            tuple(axis.extents[0] if n == d else known(1) for n in range(rank)),
            tuple(
                type(r)(r.view, tuple(d for _ in r.follows)) for r in lazy(axis).reads
            ),
            lazy(axis).body,
        )
        for d, axis in enumerate(axes)
    )


# -- triangles and diagonals -----------------------------------------------------------


def _ones_at(test: np.ufunc) -> Any:
    """A rule for matrices of ones where ``column - row`` compares with ``k``."""

    def rule(
        c: Context,
        node: ast.AST,
        rows: Bound,
        columns: Bound = None,
        k: Bound = None,
        dtype: Bound = None,
    ) -> Bound:
        kind = dtype_given(c, node, dtype, F8)
        count = integer_given(c, node, rows, "a number of rows")
        width = count if columns is None else columns
        width = integer_given(c, node, width, "a number of columns")
        offset = known(0) if k is None else integer_given(c, node, k, "k=")

        def value(b: OperationList, at: Sequence[Scalar]) -> Scalar:
            apart = integers(b, "sub", at[1], at[0])
            return convert(b, apply(b, test, [apart, offset]), kind)

        return _each(c, kind, (count, width), value)

    return rule


def _identity(c: Context, node: ast.AST, n: Bound, dtype: Bound = None) -> Bound:
    return _ones_at(np.equal)(c, node, n, dtype=dtype)


def _triangle(test: np.ufunc) -> Rule:
    """``tril`` and ``triu``: zero outside of a triangle."""

    def rule(c: Context, node: ast.AST, m: Bound, k: Bound = None) -> Bound:
        whole = lazy(array_given(c, node, m))
        rank = len(whole.extents)
        if rank < 2:
            raise c.wrong(node, "a triangle", [m], "Give a matrix")
        offset = known(0) if k is None else integer_given(c, node, k, "k=")
        rows, columns = (positions(whole.extents, d) for d in (rank - 2, rank - 1))

        def body(b: OperationList, v: Sequence[Scalar]) -> Scalar:
            apart = integers(b, "sub", v[2], v[1])
            is_in = apply(b, test, [apart, offset]).ssa(b)
            zero = convert(b, known(0), whole.kind).ssa(b)
            return Scalar(whole.kind, chosen(b, is_in, v[0].ssa(b), zero))

        parts = [whole, rows, columns]
        return copied(c.b, composed(whole.kind, whole.extents, parts, body))

    return rule


# -- products of all pairs -------------------------------------------------------------


def outer(c: Context, node: ast.AST, ufunc: np.ufunc, one: Bound, two: Bound) -> Bound:
    """``ufunc.outer``: of each element of one array with each of another."""
    first = lazy(one)
    added = (known(1),) * len(lazy(two).extents)
    spread = Lazy(first.kind, (*first.extents, *added), first.reads, first.body)
    return elementwise(c, node, ufunc, [spread, two], f"`{ufunc.__name__}.outer`")


FUNCTIONS: dict[Any, Rule] = {
    np.arange: _range,
    np.linspace: _line,
    np.eye: _ones_at(np.equal),
    np.tri: _ones_at(np.less_equal),
    np.identity: _identity,
    np.tril: _triangle(np.less_equal),
    np.triu: _triangle(np.greater_equal),
}
