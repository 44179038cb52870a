"""Loop collapsing in contractions: axes that are contiguous in all operands become one.

Two axes a, b (b faster, of extent E) are one axis p = E a + b where every operand has

    stride(a) = E stride(b),  both in one index each,  or neither of them.

The pixels of an image become the rows of a matrix for a 1x1 convolution, and the taps
and channels of a filter become one reduction axis.  The dimensions between those of a
and b become one dimension of a view (``memref.collapse_shape``).  Axes of extent one
disappear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from math import prod

from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I64, INDEX, MemRefType
from gpucodegen.passes.contraction.operands import Operand, coefficients
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.contraction.windows import slides, unrolled
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, replace_values
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass

Group = tuple[int, ...]
"""Dimensions of a memref that are one dimension of its view."""


@dataclass(frozen=True, slots=True)
class Folded:
    """An operand seen through a view: groups of dimensions, and an index for each."""

    memref: Value
    groups: tuple[Group, ...]
    indices: tuple[Index, ...]

    @staticmethod
    def of(operand: Operand) -> Folded:
        """The operand with every dimension separate."""
        groups = tuple((d,) for d in range(len(operand.indices)))
        return Folded(operand.memref, groups, operand.indices)

    @property
    def shape(self) -> tuple[int, ...]:
        extents = getattr(self.memref.type, "shape", ())
        return tuple(prod(extents[d] for d in group) for group in self.groups)

    def place(self, axis: Axis) -> list[tuple[int, int]]:
        """(dimension, stride in elements) of each index that moves with the axis."""
        steps = [coefficients(index).get(axis.iv, 0) for index in self.indices]
        return [
            (d, step * prod(self.shape[d + 1 :]))
            for d, step in enumerate(steps)
            if step
        ]

    def substituted(self, positions: Mapping[Value, Index]) -> Folded:
        """The same cells with other expressions for some axes."""
        indices = (replace_values(index, dict(positions)) for index in self.indices)
        return replace(self, indices=tuple(indices))

    def collapsed(self, first: int, last: int) -> Folded:
        """The operand with dimensions ``first`` to ``last`` as one."""
        if first == last:
            return self
        inside, after = slice(first, last + 1), last + 1
        flat = ZERO
        for index, extent in zip(self.indices[inside], self.shape[inside], strict=True):
            flat = flat * extent + index
        joined = tuple(d for group in self.groups[inside] for d in group)
        return Folded(
            self.memref,
            (*self.groups[:first], joined, *self.groups[after:]),
            (*self.indices[:first], flat, *self.indices[after:]),
        )

    def merged(self, slow: Axis, fast: Axis, whole: Axis) -> Folded | None:
        """The operand with one axis for two; None where their strides do not fit."""
        places = self.place(slow), self.place(fast)
        if not any(places):
            return self
        if any(len(place) != 1 for place in places):
            return None
        ((low, outer),), ((high, inner),) = places
        if low > high or outer != inner * fast.extent:
            return None
        positions = {slow.iv: ZERO, fast.iv: Index.of(whole.iv)}
        return self.collapsed(low, high).substituted(positions)

    def without_units(self) -> Folded:
        """Dimensions of extent one that no axis moves along join their neighbours."""
        for d, index in enumerate(self.indices):
            if len(self.groups) > 1 and self.shape[d] == 1 and not index.values:
                first = max(d - 1, 0)
                return self.collapsed(first, first + 1).without_units()
        return self

    def view(self, b: Builder) -> Operand:
        """The operand through a view of the collapsed dimensions."""
        ty = self.memref.type
        assert isinstance(ty, MemRefType)
        if len(self.groups) == ty.rank:
            return Operand(self.memref, self.indices)
        groups = ArrayAttr(
            tuple(ArrayAttr(tuple(IntegerAttr(d, I64) for d in g)) for g in self.groups)
        )
        (view,) = b.add(
            "memref.collapse_shape",
            (self.memref,),
            [replace(ty, shape=self.shape)],
            {"reassociation": groups},
            hint=self.memref.name,
        )
        return Operand(view, self.indices)


def merge_of(slow: Axis, fast: Axis) -> Axis:
    """The axis that counts through a slow and a fast one."""
    iv = Value(INDEX, fast.name, fast.iv.location)
    return Axis(iv, slow.extent * fast.extent, 0, 1, slow.operation)


def merged(slow: Axis, fast: Axis, operand: Folded) -> tuple[Axis, Folded] | None:
    """Two axes as one, if the operand has them contiguous."""
    whole = merge_of(slow, fast)
    found = operand.merged(slow, fast, whole)
    return None if found is None else (whole, found)


@dataclass(frozen=True, slots=True)
class Places:
    """The memory places of a contraction's prologue and epilogue.

    ``seen``: each place in its present view; None once that is impossible.  ``kept``:
    the variables of axes that their operations compute with, which stay as they are.
    """

    seen: Mapping[Operand, Folded] | None
    kept: frozenset[Value] = frozenset()

    def may_change(self, *axes: Axis) -> bool:
        return self.kept.isdisjoint(axis.iv for axis in axes)

    @staticmethod
    def of(contraction: Contraction) -> Places:
        """All places but the result, with every dimension separate."""
        parts = (contraction.start, contraction.epilogue)
        places = [place for part in parts if part for place in part.places]
        places += [contraction.unpadded] if contraction.unpadded else []
        kept = frozenset[Value]().union(*(part.positions for part in parts if part))
        seen = {p: Folded.of(p) for p in places if p != contraction.result}
        return Places(seen, kept)

    @property
    def are_strided(self) -> bool:
        """Whether a loop moves some place by several elements of a dimension.

        Then its axes seldom merge, and the nest would not be fused for their sake.
        """
        every = (index for f in (self.seen or {}).values() for index in f.indices)
        return any(step > 1 for index in every for step in coefficients(index).values())

    def substituted(self, positions: Mapping[Value, Index]) -> Places:
        """The places with other expressions for some axes."""
        if self.seen is None:
            return self
        seen = {p: f.substituted(positions) for p, f in self.seen.items()}
        return Places(seen, self.kept)

    def merged(self, slow: Axis, fast: Axis, whole: Axis) -> Places:
        """With ``whole`` in place of two axes."""
        if self.seen is None:
            return self
        found = {p: folded.merged(slow, fast, whole) for p, folded in self.seen.items()}
        kept = {place: folded for place, folded in found.items() if folded is not None}
        return Places(kept if len(kept) == len(found) else None, self.kept)

    def applied(
        self, b: Builder, contraction: Contraction, result: Operand
    ) -> Contraction | None:
        """The contraction with views in its prologue and epilogue, if possible."""
        if self.seen is None:
            return None
        views = {place: folded.view(b) for place, folded in self.seen.items()}
        views[contraction.result] = result
        start, epilogue = contraction.start, contraction.epilogue
        return replace(
            contraction,
            start=start and start.moved(views.__getitem__),
            epilogue=epilogue and epilogue.moved(views.__getitem__),
            unpadded=contraction.unpadded and views[contraction.unpadded],
        )


@dataclass(frozen=True, slots=True)
class _State:
    """The axes of a contraction and its operands, while axes are merged."""

    axes: tuple[Axis, ...]
    operands: tuple[Folded, ...]
    places: Places

    def without_units(self) -> _State:
        """The state without axes of extent one, but one of each kind."""
        found = self
        for axis in self.axes:
            kind = found.kind(axis)
            alone = sum(found.kind(other) == kind for other in found.axes) == 1
            if axis.extent == 1 and not alone and self.places.may_change(axis):
                kept = tuple(other for other in found.axes if other is not axis)
                moved = tuple(o.substituted({axis.iv: ZERO}) for o in found.operands)
                places = found.places.substituted({axis.iv: ZERO})
                found = _State(kept, moved, places)
        return found

    def kind(self, axis: Axis) -> tuple[bool, ...]:
        """Which operands the axis moves."""
        return tuple(bool(operand.place(axis)) for operand in self.operands)

    @property
    def reduction(self) -> tuple[Axis, ...]:
        """The axes of the sums, in the order of their terms."""
        return tuple(axis for axis in self.axes if not self.kind(axis)[0])

    def merges(self) -> Iterator[_State]:
        """The states with one more pair of axes merged."""
        reduction = self.reduction
        for slow, fast in permutations(self.axes, 2):
            if not _keeps_order(reduction, slow, fast):
                continue
            if not self.places.may_change(slow, fast):
                continue
            whole = merge_of(slow, fast)
            found = [o.merged(slow, fast, whole) for o in self.operands]
            operands = tuple(o for o in found if o is not None)
            if len(operands) == len(found):
                rest = (whole if a is fast else a for a in self.axes if a is not slow)
                places = self.places.merged(slow, fast, whole)
                if places.seen is None and self.places.are_strided:
                    continue
                yield _State(tuple(rest), operands, places)


def _keeps_order(reduction: Sequence[Axis], slow: Axis, fast: Axis) -> bool:
    """Whether the terms of each sum stay in order when two axes are one."""
    if slow not in reduction and fast not in reduction:
        return True
    return (slow, fast) in pairwise(reduction)


def collapsed(b: Builder, contraction: Contraction) -> Contraction | None:
    """The contraction over as few axes as possible; views are built first.

    None where fused operations have other axes.
    """
    operands = (contraction.result, contraction.left, contraction.right)
    is_plain = contraction.is_plain and all(map(is_row_major, operands))
    if not is_plain:
        return contraction
    places = Places.of(contraction)
    folded = tuple(map(Folded.of, operands))
    state = _State(contraction.axes, folded, places).without_units()
    while (smaller := next(state.merges(), None)) is not None:
        state = smaller
    return _rebuilt(b, contraction, state)


def is_row_major(operand: Operand) -> bool:
    """Whether the elements are contiguous, so that dimensions may be joined."""
    ty = operand.memref.type
    return isinstance(ty, MemRefType) and ty.layout is None and None not in ty.shape


def _rebuilt(b: Builder, contraction: Contraction, state: _State) -> Contraction | None:
    def of_kind(*kind: bool) -> tuple[Axis, ...]:
        return tuple(axis for axis in state.axes if state.kind(axis) == kind)

    result, left, right = (o.without_units().view(b) for o in state.operands)
    if slides(left, state.axes):
        left = unrolled(b, left, state.axes)
    moved = state.places.applied(b, contraction, result)
    return moved and replace(
        moved,
        axes=state.axes,
        result=result,
        left=left,
        right=right,
        rows=of_kind(True, True, False),
        columns=of_kind(True, False, True),
        batch=of_kind(True, True, True),
        reduction=state.reduction,
    )
