"""Narrow-integer contractions by dot-product instructions on packed words.

Where both operands are i8 or i16 widened to i32, with or without a zero point, groups
of g elements along a reduction axis k are packed into words:

    A'[.., k', ..] = word of A[.., g k' + p, ..],  p < g          (and B' of B)
    C += A' (x) B'  with  a' * b' = sum_p a_p * b_p               (`dialects.words`)

32-bit sums wrap around, so their order is free.  Words past the end of the axis are
padded with zeros.  Zero points x, y, and a shift s of B to the signedness that the
processor's instruction needs, are corrected by sums over one operand:

    sum_k (a - x) (b + s - y) =   sum_k a b
                                + (s - y) sum_k a             (an offset of the row)
                                - x sum_k (b + s - y)         (an offset of the column)

These have the axes of their operand, image windows included; they are computed before
the contraction and added to its initial sums.

Elements that are contiguous along k are words already, or are widened several at a
time. Otherwise lines of the array are combined by shifts:

    W[.., w, n] = or over p < g of  (X[.., g w + p, n] mod 2**bits) << (bits p)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects.gcg import Parts
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, INDEX, IntegerType, MemRefType, VectorType
from gpucodegen.passes.contraction.cpu.blocking import row_axis
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    Range,
    Values,
    buffer_of,
    carried,
    grid,
)
from gpucodegen.passes.contraction.recognize import Contraction, Pointwise, Step
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.dot_kernels import (
    WORD,
    PackedDots,
    Part,
    plan_packed_dots,
)
from gpucodegen.tiling.machine.processor import Machine


@dataclass(frozen=True, slots=True)
class Narrow:
    """An operand with widened elements, and the dimension that is packed.

    ``zero``: the zero point, subtracted from the widened elements.
    """

    memref: Value
    part: Part
    indices: tuple[Index, ...]
    dimension: int
    zero: Value | None = None

    @property
    def operand(self) -> Operand:
        """The elements as they are in memory."""
        return Operand(self.memref, self.indices)

    @property
    def shape(self) -> tuple[int, ...]:
        ty = self.memref.type
        assert isinstance(ty, MemRefType)
        return tuple(extent or 0 for extent in ty.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether the parts of a word are contiguous in memory."""
        plain = getattr(self.memref.type, "layout", None) is None
        return plain and self.dimension == len(self.shape) - 1

    @property
    def widening(self) -> str:
        """The operation that widens them."""
        return "arith.extsi" if self.part.signed else "arith.extui"


def widened(b: Builder, source: Narrow, at: Sequence[Index]) -> Value:
    value = b.load(source.memref, at, "x")
    return b.add(source.widening, (value,), [I32], hint="x")[0]


@dataclass(frozen=True, slots=True)
class WordPacking:
    """How an array becomes words of ``part`` along its dimension, up to ``extent``.

    Where signedness differs, the top bits of the parts are inverted.
    """

    source: Narrow
    part: Part
    extent: int
    lanes: int
    parallel: bool

    def build(self, b: Builder, groups: Axis) -> Operand:
        """Fill a buffer with the words of the given ``groups`` of the axis."""
        source, d = self.source, self.source.dimension
        shape = list(source.shape)
        shape[d] = groups.extent
        words = b.allocate("memref.alloc", MemRefType(tuple(shape), I32), "words")
        if source.is_contiguous:
            self._neighbours(b, words)
        else:
            self._lines(b, words)
        indices = list(source.indices)
        indices[d] = Index.of(groups.iv)
        return Operand(words, tuple(indices))

    @property
    def _whole(self) -> int:
        return self.extent // self.part.count

    @property
    def _rest(self) -> int:
        """Parts in the last, partial word."""
        return self.extent % self.part.count

    @property
    def _inverted(self) -> int:
        """The bits of a word that are inverted."""
        inverted = self.part == self.source.part.other_sign
        tops = range(self.part.bits - 1, WORD, self.part.bits)
        return sum(1 << top for top in tops) if inverted else 0

    def _neighbours(self, b: Builder, words: Value) -> None:
        in_vectors = self._whole // self.lanes * self.lanes

        def row(i: Builder, ivs: Sequence[Value]) -> None:
            at = [Index.of(iv) for iv in ivs]

            def vector(j: Builder, iv: Value) -> None:
                word = Index.of(iv)
                j.vector_store(self._vector(j, at, word), words, [*at, word])

            def scalar(j: Builder, iv: Value) -> None:
                self._store(j, words, at, Index.of(iv), self.part.count)

            if in_vectors:
                i.loop(0, in_vectors, vector, step=self.lanes, hint="word")
            if in_vectors < self._whole:
                i.loop(in_vectors, self._whole, scalar, hint="word")
            if self._rest:
                self._store(i, words, at, Index.of(self._whole), self._rest)

        front = self.source.shape[:-1]
        grid(
            b, front, row, [f"i{d}" for d in range(len(front))], parallel=self.parallel
        )

    def _vector(self, b: Builder, at: Sequence[Index], word: Index) -> Value:
        """Neighbouring words from memory."""
        source, count = self.source, self.lanes * self.part.count
        narrow = VectorType((count,), IntegerType(source.part.bits))
        place = [*at, word * self.part.count]
        value = b.vector_load(source.memref, place, narrow, "x")
        if self.part.bits > source.part.bits:
            wide = VectorType((count,), IntegerType(self.part.bits))
            (value,) = b.add(source.widening, (value,), [wide], hint="x")
        ty = VectorType((self.lanes,), I32)
        (vector,) = b.add("vector.bitcast", (value,), [ty], hint="words")
        if self._inverted:
            tops = b.constant(_signed(self._inverted), ty)
            (vector,) = b.add("arith.xori", (vector, tops), [ty], hint="words")
        return vector

    def _lines(self, b: Builder, words: Value) -> None:
        d, shape = self.source.dimension, self.source.shape
        *inner, last = shape[d + 1 :] or (1,)

        def line(i: Builder, at: Sequence[Index], word: Index, count: int) -> None:
            def one(j: Builder, iv: Value) -> None:
                outside = [*at, Index.of(iv)] if shape[d + 1 :] else list(at)
                self._store(j, words, outside, word, count)

            i.loop(0, last, one, hint="lane")

        def full(i: Builder, ivs: Sequence[Value]) -> None:
            at = [Index.of(iv) for iv in ivs]
            line(i, [*at[:d], *at[d + 1 :]], at[d], self.part.count)

        def rest(i: Builder, ivs: Sequence[Value]) -> None:
            line(i, [Index.of(iv) for iv in ivs], Index.of(self._whole), self._rest)

        around = [*shape[:d], *inner]
        hints = [f"i{n}" for n in range(len(around) + 1)]
        extents = [*shape[:d], self._whole, *inner]
        grid(b, extents, full, hints, parallel=self.parallel)
        if self._rest:
            grid(b, around, rest, hints, parallel=False)

    def _store(
        self,
        b: Builder,
        words: Value,
        at: Sequence[Index],
        word: Index,
        count: int,
    ) -> None:
        """A word of ``count`` parts; ``at``: the other dimensions."""
        d, bits = self.source.dimension, self.part.bits
        mask = b.constant((1 << bits) - 1, I32)
        total = b.constant(_signed(self._inverted), I32)
        for part in range(count):
            place = [*at[:d], word * self.part.count + part, *at[d:]]
            value = widened(b, self.source, place)
            (value,) = b.add("arith.andi", (value, mask), [I32], hint="x")
            shift = b.constant(part * bits, I32)
            (value,) = b.add("arith.shli", (value, shift), [I32], hint="x")
            (total,) = b.add("arith.xori", (total, value), [I32], hint="word")
        b.store(total, words, [*at[:d], word, *at[d:]])


def _signed(word: int) -> int:
    """The i32 with the bits of an unsigned word."""
    return word - (1 << WORD) if word >> (WORD - 1) else word


Term = Callable[[Builder, Sequence[Index]], Value]
"""Builds an i32 of an element of an array."""


@dataclass(frozen=True, slots=True)
class Sums:
    """``sum over walked of term(source)``, at every position of the axes ``kept``."""

    source: Operand
    kept: tuple[Axis, ...]
    walked: tuple[Axis, ...]
    parallel: bool

    @staticmethod
    def of(contraction: Contraction, factor: Operand, *, parallel: bool) -> Sums:
        """The sums of an operand over the whole reduction, in the order of the result.

        Of the summed axes, the contiguous one comes last.
        """
        result, last = contraction.result, len(factor.indices) - 1
        places = {
            axis: result.dimensions_of(axis)
            for axis in contraction.axes
            if factor.mentions(axis) and axis not in contraction.reduction
        }
        kept = sorted(places, key=places.__getitem__)
        walked = sorted(
            contraction.reduction, key=lambda axis: factor.coefficient(last, axis) == 1
        )
        return Sums(factor, tuple(kept), tuple(walked), parallel)

    @property
    def _in_registers(self) -> bool:
        """Whether the terms of one sum are contiguous, not those of neighbours."""
        last = len(self.source.indices) - 1
        return self.source.coefficient(last, self.walked[-1]) == 1

    def build(self, b: Builder, term: Term, scale: Value) -> Operand:
        """A new buffer of ``scale`` times each sum."""
        sums = buffer_of(b, self.kept, I32, "offsets")
        if self._in_registers:
            self._one_by_one(b, sums.memref, term, scale)
        else:
            self._together(b, sums.memref, term, scale)
        return sums

    def _one_by_one(self, b: Builder, buffer: Value, term: Term, scale: Value) -> None:
        """Each sum in a register."""
        whole = [Range.whole(axis) for axis in self.walked]

        def sum_(i: Builder, at: Positions) -> None:
            def step(j: Builder, here: Positions, now: Values) -> Values:
                value = term(j, self.source.at(here))
                return j.add("arith.addi", (now[0], value), [I32], hint="sum")

            (total,) = carried(i, whole, at, [i.constant(0, I32)], step)
            (value,) = i.add("arith.muli", (scale, total), [I32], hint="offset")
            i.store(value, buffer, self._cell(at))

        self._everywhere(b, self.kept, sum_, parallel=self.parallel)

    def _together(self, b: Builder, buffer: Value, term: Term, scale: Value) -> None:
        """Neighbouring sums in memory, one step of each at a time."""

        def clear(i: Builder, at: Positions) -> None:
            i.store(i.constant(0, I32), buffer, self._cell(at))

        def add(i: Builder, at: Positions) -> None:
            value = term(i, self.source.at(at))
            (value,) = i.add("arith.muli", (scale, value), [I32], hint="term")
            old = i.load(buffer, self._cell(at), "sum")
            (value,) = i.add("arith.addi", (old, value), [I32], hint="sum")
            i.store(value, buffer, self._cell(at))

        self._everywhere(b, self.kept, clear)
        self._everywhere(b, (*self.walked, *self.kept), add)

    def _cell(self, at: Positions) -> list[Index]:
        return [at[axis.iv] for axis in self.kept]

    @staticmethod
    def _everywhere(
        b: Builder,
        axes: Sequence[Axis],
        body: Callable[[Builder, Positions], None],
        *,
        parallel: bool = False,
    ) -> None:
        def point(i: Builder, ivs: Sequence[Value]) -> None:
            places = zip(axes, ivs, strict=True)
            body(i, {axis.iv: Index.of(iv) for axis, iv in places})

        names = [axis.name for axis in axes]
        grid(b, [axis.extent for axis in axes], point, names, parallel=parallel)


def with_offset(contraction: Contraction, offset: Operand) -> Contraction:
    """The contraction whose initial sums are higher by an offset."""
    result = contraction.result
    old, more, new = (Value(I32, name) for name in ("old", "offset", "new"))
    steps: tuple[Step, ...] = (
        (Operation("affine.load", (result.memref,), (old,)), result),
        (Operation("affine.load", (offset.memref,), (more,)), offset),
        (Operation("arith.addi", (old, more), (new,)), None),
        (Operation("affine.store", (new, result.memref)), result),
    )
    start = contraction.start or Pointwise((), (result,))
    return replace(contraction, start=replace(start, steps=(*start.steps, *steps)))


WIDENING = {"arith.extsi": True, "arith.extui": False}
"""Operations that widen a narrow integer to i32, and whether it is signed."""
SPARSE = 4
"""Most array elements per used element for which an array is packed."""

Choose = Callable[[Part, Part, int], PackedDots | None]
"""The packing of two operands, by their types and the rows of the result."""


@dataclass(frozen=True, slots=True)
class InWords:
    """A contraction of words, and the buffers allocated for it."""

    contraction: Contraction
    buffers: tuple[Value, ...]


def in_words(b: Builder, found: Contraction, machine: Machine) -> InWords | None:
    """The contraction over packed words; None where packing does not apply or pay."""
    work = prod(axis.extent for axis in found.axes)
    lanes, parallel = machine.unit.lanes(WORD), machine.threads_for(work) > 1

    def choose(left: Part, right: Part, rows: int) -> PackedDots | None:
        return plan_packed_dots(left, right, machine.unit.narrowest, rows)

    return over_words(b, found, choose, lanes, parallel=parallel)


def over_words(
    b: Builder, found: Contraction, choose: Choose, lanes: int, *, parallel: bool
) -> InWords | None:
    """The contraction over words, after its packing; None where it does not apply.

    ``lanes``: words that are packed at once.
    """
    if found.element != I32 or found.scale is not None or row_axis(found) is None:
        return None
    rows = prod(axis.extent for axis in (*found.rows, *found.batch))
    for axis in found.reduction:
        factors = [_narrow(o, found, axis) for o in (found.left, found.right)]
        left, right = factors
        if left is None or right is None:
            continue
        plan = choose(left.part, right.part, rows)
        if plan is not None:
            words = _InWords(found, axis, left, right, lanes, parallel)
            return words.build(b, plan)
    return None


def _narrow(operand: Operand, found: Contraction, axis: Axis) -> Narrow | None:
    """A narrow-integer operand, if the contraction uses most of its array."""
    ty, steps = operand.memref.type, [op for op, _ in operand.steps]
    if len(steps) not in {2, 3} or not isinstance(ty, MemRefType) or None in ty.shape:
        return None
    load, widening, *rest = steps
    signed, zero = WIDENING.get(widening.name), None
    if signed is None or widening.operands != load.results:
        return None
    for op in rest:
        value, zero = op.operands[0], op.operands[-1]
        if op.name != "arith.subi" or value is not widening.result or zero is value:
            return None
    element, dimensions = ty.element, operand.dimensions_of(axis)
    if not isinstance(element, IntegerType) or element.width not in {8, 16}:
        return None
    own = [a for a in found.axes if operand.mentions(a)]
    ivs = {a.iv for a in own}
    if len(dimensions) != 1 or operand.indices[dimensions[0]] != Index.of(axis.iv):
        return None
    known = all(set(index.values) <= ivs for index in operand.indices)
    known &= all(operand.mentions(axis) for axis in found.reduction)
    used = SPARSE * prod(a.extent for a in own)
    if not known or prod(extent or 0 for extent in ty.shape) > used:
        return None
    part = Part(element.width, signed)
    return Narrow(operand.memref, part, operand.indices, dimensions[0], zero)


@dataclass(frozen=True, slots=True)
class _InWords:
    found: Contraction
    axis: Axis
    left: Narrow
    right: Narrow
    lanes: int
    parallel: bool

    def build(self, b: Builder, plan: PackedDots) -> InWords:
        """Pack both operands and sum up the offsets."""
        count = -(-self.axis.extent // plan.left.count)
        iv = Value(INDEX, self.axis.name, self.axis.iv.location)
        groups = Axis(iv, count, 0, 1, self.axis.operation)
        left = self._packed(b, self.left, plan.left, groups)
        right = self._packed(b, self.right, plan.right, groups)

        def renewed(axes: Sequence[Axis]) -> tuple[Axis, ...]:
            return tuple(groups if a is self.axis else a for a in axes)

        words = replace(
            self.found,
            axes=renewed(self.found.axes),
            reduction=renewed(self.found.reduction),
            left=left,
            right=right,
            unpadded=None,
            words=_types(plan),
        )
        offsets = self._offsets(b, plan.shift)
        for offset in offsets:
            words = with_offset(words, offset)
        return InWords(words, tuple(o.memref for o in (left, right, *offsets)))

    def _packed(self, b: Builder, source: Narrow, part: Part, groups: Axis) -> Operand:
        extent = self.axis.extent
        packing = WordPacking(source, part, extent, self.lanes, self.parallel)
        return packing.build(b, groups)

    def _offsets(self, b: Builder, shift: int) -> list[Operand]:
        """The terms that zero points and the shift of operand B add to the sums."""
        x, y = self.left.zero, self.right.zero
        offsets: list[Operand] = []
        if y is not None or shift:
            scale = _difference(b, b.constant(shift, I32), y)
            offsets.append(self._offset(b, self.left, None, scale))
        if x is not None:
            scale = _difference(b, b.constant(0, I32), x)
            offsets.append(self._offset(b, self.right, y, scale))
        return offsets

    def _offset(
        self, b: Builder, factor: Narrow, zero: Value | None, scale: Value
    ) -> Operand:
        """``scale`` times the sums of an operand less ``zero``."""

        def term(i: Builder, at: Sequence[Index]) -> Value:
            return _difference(i, widened(i, factor, at), zero)

        sums = Sums.of(self.found, factor.operand, parallel=self.parallel)
        return sums.build(b, term, scale)


def _difference(b: Builder, value: Value, less: Value | None) -> Value:
    if less is None:
        return value
    return b.add("arith.subi", (value, less), [I32], hint=value.name)[0]


def _types(plan: PackedDots) -> Parts:
    left, right = (
        IntegerType(part.bits, "" if part.signed else "u")
        for part in (plan.left, plan.right)
    )
    return left, right
