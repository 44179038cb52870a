"""Translates reductions of arrays and matrix products to linalg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpucodegen.ir.affine import Const, Dim
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import elementwise
from gpucodegen.python.arrays import (
    Array,
    Lazy,
    Read,
    View,
    allocated,
    common,
    copied,
    fill,
    generic,
    lazy,
)
from gpucodegen.python.range_checks import convert
from gpucodegen.python.scalars import Scalar, compared, known
from gpucodegen.python.types import Kind, category, dtype_of
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction: the combining function and its neutral element."""

    ufunc: np.ufunc
    start: Any = None

    def starts_at(self, dtype: np.dtype[Any]) -> Scalar:
        """The neutral element for a dtype."""
        if isinstance(self.start, Scalar):
            return self.start
        if self.start is not None:
            return known(np.asarray(self.start).astype(dtype).item())
        is_float = dtype.kind == "f"
        lowest = self.ufunc is np.maximum
        if is_float:
            return known(-np.inf if lowest else np.inf)
        if dtype.kind == "b":
            return known(not lowest)
        if dtype.kind == "c":
            raise elementwise.NoRow
        limits = np.iinfo(dtype)
        return known(int(limits.min if lowest else limits.max))


SUM, PRODUCT = Reduction(np.add, 0), Reduction(np.multiply, 1)
SMALLEST, LARGEST = Reduction(np.minimum), Reduction(np.maximum)
OF_NOTHING = "the smallest or largest of no elements"
ANY, ALL = Reduction(np.logical_or, False), Reduction(np.logical_and, True)


def result_dtype(reduction: Reduction, kind: Kind) -> np.dtype[Any]:
    """The result kind of NumPy's function: sums of small integers are wide."""
    dtype = dtype_of(kind)
    if reduction.ufunc in (np.logical_or, np.logical_and, np.logical_xor):
        return np.dtype(bool)
    if reduction.ufunc in _SUMS and dtype.kind in "biu":
        return np.dtype("u8" if dtype.kind == "u" else "i8")
    return dtype


_SUMS = (np.add, np.multiply)


def reduced(
    b: OperationList,
    reduction: Reduction,
    array: Array,
    axes: Sequence[int],
    *,
    keepdims: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> Array | Scalar:
    """Reduce over axes, to a number if none is left.

    Sums and products of f16 are accumulated in f32 and rounded once, as NumPy does.
    """
    whole = lazy(array)
    dtype = result_dtype(reduction, whole.kind) if dtype is None else dtype
    is_half = reduction.ufunc in _SUMS and dtype == np.dtype("f2")
    wide = np.dtype("f4") if is_half else dtype
    rank = len(whole.extents)
    if reduction.start is None:
        refuse_empty(b, whole, axes)
    kept = [d for d in range(rank) if d not in axes]
    shown = range(rank) if keepdims else kept
    extents = tuple(known(1) if d in axes else whole.extents[d] for d in shown)
    target = allocated(b, wide, extents)
    fill(b, target, reduction.starts_at(wide))
    iterators = ["reduction" if d in axes else "parallel" for d in range(rank)]

    def body(inner: OperationList, elements: Sequence[Scalar]) -> Scalar:
        found = convert(inner, whole.body(inner, elements[:-1]), wide)
        return elementwise.apply(inner, reduction.ufunc, [elements[-1], found])

    whole = _told(b, whole, axes)
    places = [Const(0) if d in axes else Dim(d) for d in shown]
    generic(b, whole.reads, target, places, iterators, body)
    if not extents:
        return convert(b, loaded(b, target), dtype)
    return copied(b, target, dtype) if is_half else target


def refuse_empty(b: OperationList, array: Array, axes: Sequence[int]) -> None:
    """End the call where a smallest or largest of no elements is to be found."""
    for d in axes:
        extent = array.extents[d]
        if extent.value is None:
            if extent.constant == 0:
                raise elementwise.NoRow
            continue
        is_some = compared(b, "sgt", extent.value, b.constant(0, INDEX))
        said = {"msg": StringAttr(OF_NOTHING)}
        b.add("cf.assert", (is_some,), (), said)


def check_exponents(
    b: OperationList, ufunc: np.ufunc, values: Sequence[Array | Scalar]
) -> None:
    """End the call if an array of integers gets a negative power.

    The smallest exponent is checked before the loops, which stay parallel.
    """
    kinds, _ = elementwise.kinds_of(ufunc, [lazy(v).kind for v in values])
    if ufunc is not np.power or category(kinds[1]) != "i":
        return
    exponent = values[1]
    if not isinstance(exponent, Scalar):
        if category(lazy(exponent).kind) != "i":
            return
        least = Reduction(np.minimum, 0)
        found = reduced(b, least, exponent, range(len(exponent.extents)))
        assert isinstance(found, Scalar)
        exponent = found
    elementwise.refuse_negative(b, exponent)


def _told(b: OperationList, array: Lazy, over: Sequence[int]) -> Lazy:
    """An array whose views determine these extents; else a copy in memory."""
    told = {d for read in array.reads if read.view for d in read.follows}
    return array if told.issuperset(over) else lazy(copied(b, array))


def loaded(b: OperationList, view: View) -> Scalar:
    """The number in an array of rank 0."""
    return view.element(b, ())


Label = int | str


def product(b: OperationList, one: Array, other: Array) -> Array | Scalar:
    """``one @ other``; leading dimensions are broadcast.  Raises NoRow, Disagree."""
    factors = [lazy(one), lazy(other)]
    ranks = [len(f.extents) for f in factors]
    if not min(ranks):
        raise elementwise.NoRow
    wide = max(*ranks, 2) - 2
    batch = [range(wide - max(rank - 2, 0), wide) for rank in ranks]
    row, column = (("m",) if ranks[0] > 1 else ()), (("n",) if ranks[1] > 1 else ())
    left, right = (*batch[0], *row, "k"), (*batch[1], "k", *column)
    return contraction(b, factors, [left, right], (*range(wide), *row, *column))


def contraction(
    b: OperationList,
    factors: Sequence[Lazy],
    labels: Sequence[Sequence[Label]],
    result: Sequence[Label],
) -> Array | Scalar:
    """The sum of products of one or two arrays over the axes that the result lacks.

    Axes of one label run together, also those of one array, whose diagonal is read.
    Raises NoRow, Disagree.
    """
    pair = [factors[0].kind, factors[-1].kind]
    kinds, kind = elementwise.kinds_of(np.multiply, pair)
    named = dict.fromkeys(x for own in labels for x in own)
    loops = [*result, *(x for x in named if x not in result)]
    pairs = [
        (x, extent)
        for own, factor in zip(labels, factors, strict=True)
        for x, extent in zip(own, factor.extents, strict=True)
    ]
    sizes = {x: common([e for y, e in pairs if y == x]) for x in loops}
    reads = [
        _over(b, factor, own, loops, sizes)
        for own, factor in zip(labels, factors, strict=True)
    ]
    target = allocated(b, dtype_of(kind), tuple(sizes[x] for x in result))
    fill(b, target, known(0))

    def body(inner: OperationList, elements: Sequence[Scalar]) -> Scalar:
        term, *rest = [convert(inner, e, kinds[0]) for e in elements[:-1]]
        for other in rest:
            term = elementwise.apply(inner, np.multiply, [term, other])
        return elementwise.apply(inner, np.add, [elements[-1], term])

    kept = len(result)
    iterators = ["parallel"] * kept + ["reduction"] * (len(loops) - kept)
    own = [Dim(d) for d in range(kept)]
    generic(b, reads, target, own, iterators, body)
    return target if kept else loaded(b, target)


def _over(
    b: OperationList,
    factor: Lazy,
    labels: Sequence[Label],
    loops: Sequence[Label],
    sizes: Mapping[Label, Scalar],
) -> Read:
    """An operand indexed by the loops of its labels; computed operands get memory."""
    whole = _told(b, factor, range(len(labels)))
    plain = whole.plain or lazy(copied(b, factor)).reads[0]
    places = [
        None if extent.mixed() == 1 != sizes[x].mixed() else loops.index(x)
        for x, extent in zip(labels, factor.extents, strict=True)
    ]
    follows = (None if d is None else places[d] for d in plain.follows)
    return Read(plain.view, tuple(follows))
