"""Elements that a mask selects: reductions, updates in place, and compaction.

``x[mask]`` is kept with its mask until something needs an array: an update of the same
elements is a select, and a reduction combines neutral elements for the others. All else
compacts the elements in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import single_block
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import reductions
from gpucodegen.python.arrays import (
    Array,
    Disagree,
    Extents,
    Lazy,
    View,
    allocated,
    assign,
    broadcast,
    cast,
    composed,
    copied,
    in_memory,
    lazy,
    mapped,
    may_share,
    stretched,
)
from gpucodegen.python.elementwise import NoRow, apply, kinds_of
from gpucodegen.python.nests import counted, nest
from gpucodegen.python.range_checks import convert
from gpucodegen.python.reductions import SUM, Reduction
from gpucodegen.python.scalars import Scalar, chosen, compared, known, same
from gpucodegen.python.types import Kind, category, dtype_of
from gpucodegen.records import dataclass

Places = Sequence[Scalar]
Visit = Callable[[OperationList, Places, Places], None]
I8 = np.dtype("i8")


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask over the first dimensions of an array.

    ``text``: the subscript; equal texts in one statement are equal masks.
    """

    truth: Lazy
    text: str

    @property
    def rank(self) -> int:
        return len(self.truth.extents)

    def over(self, extents: Extents) -> Lazy:
        """The mask for each element of an array.  Raises Disagree."""
        ones = (known(1),) * (len(extents) - self.rank)
        own = zip(self.truth.extents, extents, strict=False)
        if any(x.mixed() == 1 and y.mixed() != 1 for x, y in own):
            raise Disagree
        whole = replace(self.truth, extents=(*self.truth.extents, *ones))
        return stretched(whole, extents)

    def check(self, b: OperationList, extents: Extents) -> None:
        """End the call unless an array of these extents is as long as the mask."""
        for own, extent in zip(self.truth.extents, extents, strict=False):
            if not same([own], [extent]):
                required(b, own, "eq", extent, "a mask as long as its array")

    def count(self, b: OperationList) -> Scalar:
        """The number of positions that the mask selects."""
        truth = cast(self.truth, I8)
        found = reductions.reduced(b, SUM, truth, range(self.rank))
        assert isinstance(found, Scalar)
        return convert(b, found, int)


@dataclass(frozen=True, slots=True)
class Selected:
    """The elements of an expression that a mask selects."""

    mask: Mask
    whole: Lazy

    @property
    def kind(self) -> Kind:
        return self.whole.kind

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    def __str__(self) -> str:
        return f"elements of {self.whole} that a mask selects"

    def reduced(self, b: OperationList, reduction: Reduction, dtype: Any) -> Scalar:
        """A reduction of all selected elements to a number."""
        kind = dtype or reductions.result_dtype(reduction, self.kind)
        neutral = reduction.starts_at(kind)
        value = cast(self.whole, kind)
        if reduction in (reductions.SMALLEST, reductions.LARGEST):
            required(b, self.mask.count(b), "sgt", 0, reductions.OF_NOTHING)
        parts = [self.mask.over(value.extents), value]
        extents, parts = broadcast(parts)

        def body(inner: OperationList, v: Sequence[Scalar]) -> Scalar:
            no = convert(inner, neutral, kind).ssa(inner)
            return Scalar(kind, chosen(inner, v[0].ssa(inner), v[1].ssa(inner), no))

        filled = composed(kind, extents, parts, body)
        found = reductions.reduced(
            b, reduction, filled, range(len(extents)), dtype=kind
        )
        assert isinstance(found, Scalar)
        return found

    def count(self, b: OperationList) -> Scalar:
        """The number of selected elements."""
        self.mask.check(b, self.whole.extents)
        found = self.mask.count(b)
        for extent in self.whole.extents[self.mask.rank :]:
            found = apply(b, np.multiply, [found, extent])
        return found

    def compacted(self, b: OperationList) -> View:
        """A new array with the selected elements, in order."""
        self.mask.check(b, self.whole.extents)
        rows = self.whole.extents[self.mask.rank :]
        count = self.mask.count(b)
        made = allocated(b, self.dtype, (count, *rows))
        source = _readable(b, self.whole)
        self.each(
            b, lambda inner, at, row: made.put(inner, row, source.element(inner, at))
        )
        return made

    def moved_to_front(self, b: OperationList, view: View) -> Scalar:
        """Move the selected rows of ``view``, which is all of the array, to its front.

        The result is their number. Each row moves to its own place or to one before it,
        whose old row has been read, so rows that are not selected may be stored, too.
        """
        self.mask.check(b, view.extents)
        truth = _readable(b, self.mask.truth, view)

        def visit(inner: OperationList, at: Places, count: Scalar) -> Scalar:
            nest(
                inner,
                view.extents[1:],
                lambda own, rest: view.put(
                    own, [count, *rest], view.element(own, [*at, *rest])
                ),
            )
            holds = truth.element(inner, at)
            return apply(inner, np.add, [count, convert(inner, holds, int)])

        return counted(b, self.mask.truth.extents, visit)

    def each(self, b: OperationList, body: Visit, written: View | None = None) -> None:
        """Run ``body`` on the position of each selected element and its new one.

        ``written``: the array that ``body`` writes to at the position, if not new.
        """
        truth = _readable(b, self.mask.truth, written)
        rows = self.whole.extents[self.mask.rank :]

        def visit(inner: OperationList, at: Sequence[Scalar], count: Scalar) -> Scalar:
            holds = truth.element(inner, at).ssa(inner)
            arm = OperationList(inner.location)
            nest(arm, rows, lambda own, rest: body(own, [*at, *rest], [count, *rest]))
            arm.add("scf.yield")
            other = OperationList(inner.location)
            other.add("scf.yield")
            regions = [single_block(arm.operations), single_block(other.operations)]
            inner.add("scf.if", (holds,), (), {}, regions)
            step = convert(inner, Scalar(np.dtype(bool), holds), int)
            return apply(inner, np.add, [count, step])

        counted(b, self.mask.truth.extents, visit)

    def store(self, b: OperationList, target: View, value: Any) -> None:
        """``target[mask] = value``.  Raises Disagree."""
        rows = target.extents[self.mask.rank :]
        if isinstance(value, Selected) and value.mask.text == self.mask.text:
            _store_where(b, target, self.mask, value.whole)
            return
        if isinstance(value, Selected):
            value = value.compacted(b)
        whole = lazy(value)
        if len(whole.extents) > len(rows) and whole.extents[0].mixed() == 1:
            whole = without_first(whole)
        if len(whole.extents) <= len(rows):
            _store_where(b, target, self.mask, stretched(whole, target.extents))
            return
        if len(whole.extents) > len(rows) + 1:
            raise Disagree
        self.mask.check(b, target.extents)
        count = self.mask.count(b)
        given = stretched(whole, (whole.extents[0], *rows))
        source = in_memory(b, given)
        if may_share(source, target):
            source = copied(b, source)
        text = "a mask selects as many elements as are assigned"
        required(b, count, "eq", source.extents[0], text)
        self.each(
            b,
            lambda inner, at, row: target.put(inner, at, source.element(inner, row)),
            target,
        )


def _readable(b: OperationList, array: Lazy, written: View | None = None) -> View:
    """The elements of an array, in memory that a loop over positions may read.

    It may write to ``written`` at positions that it has read, or before them.
    """
    read = array.plain
    view = None if read is None else read.view
    if (
        read is None
        or view is None
        or read.follows != tuple(range(len(array.extents)))
        or not same(view.extents, array.extents)
    ):
        return in_memory(b, array)
    if written is None or view.memory is written.memory:
        return view
    return in_memory(b, array) if may_share(view, written) else view


def without_first(array: Lazy) -> Lazy:
    """An array without its first dimension, whose extent is 1."""
    reads = (
        replace(r, follows=tuple(d - 1 if d else None for d in r.follows))
        for r in array.reads
    )
    return replace(array, extents=array.extents[1:], reads=tuple(reads))


def _store_where(b: OperationList, target: View, mask: Mask, value: Lazy) -> None:
    """Store where a mask holds, without moving elements."""
    kind = dtype_of(target.dtype)
    parts = [mask.over(target.extents), cast(value, kind), lazy(target)]
    extents, parts = broadcast(parts)

    def body(inner: OperationList, v: Sequence[Scalar]) -> Scalar:
        where, yes, no = (x.ssa(inner) for x in v)
        return Scalar(kind, chosen(inner, where, yes, no))

    assign(b, composed(kind, extents, parts, body), target)


def required(
    b: OperationList, value: Scalar, predicate: str, other: Any, text: str
) -> None:
    """End the call by an assertion if two indices do not compare as required."""
    wanted = other if isinstance(other, Scalar) else known(other)
    pair = [convert(b, v, int).ssa(b) for v in (value, wanted)]
    holds = compared(b, predicate, pair[0], pair[1])
    b.add("cf.assert", (holds,), (), {"msg": StringAttr(text)})


def applied(ufunc: np.ufunc, values: Sequence[Any]) -> Any:
    """An elementwise function of elements of one mask and of numbers; else None."""
    masks = [v.mask for v in values if isinstance(v, Selected)]
    others = [v for v in values if not isinstance(v, Selected | Scalar)]
    if others or len({m.text for m in masks}) > 1 or _may_refuse(ufunc, values):
        return None
    inner = [v.whole if isinstance(v, Selected) else v for v in values]
    return Selected(masks[0], mapped(ufunc, inner))


def _may_refuse(ufunc: np.ufunc, values: Sequence[Any]) -> bool:
    """Whether elements that the mask leaves out could end the call: integer powers."""
    if ufunc is not np.power:
        return False
    kinds, _ = kinds_of(ufunc, [v.kind for v in values])
    exponent = values[1]
    is_natural = (
        isinstance(exponent, Scalar)
        and exponent.value is None
        and exponent.constant.real >= 0
    )
    return category(kinds[1]) == "i" and not is_natural


def settled(b: OperationList, value: Any) -> Any:
    """A value that is no longer tied to a mask."""
    return value.compacted(b) if isinstance(value, Selected) else value


def nonzero(b: OperationList, array: Array) -> tuple[View, ...]:
    """The positions of the elements that are not zero, an array for each dimension."""
    truth = in_memory(b, cast(array, np.dtype(bool)))
    rank = len(truth.extents)
    if not rank:
        raise NoRow
    mask = Mask(lazy(truth), "")
    count = mask.count(b)
    made = [allocated(b, I8, (count,)) for _ in range(rank)]

    def put(inner: OperationList, at: Places, row: Places) -> None:
        for view, place in zip(made, at, strict=True):
            view.put(inner, row, place)

    Selected(mask, lazy(truth)).each(b, put)
    return tuple(made)
