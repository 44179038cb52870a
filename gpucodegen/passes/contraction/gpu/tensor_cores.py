"""Tensor-core products of a warp: fragment loads, ``mma.sync`` and the epilogue.

`on_tensor_cores` says which contractions qualify and in which operand type.  A product
of narrow floats is exact in f32 and is added to a sum in f32, as in a program that
widens both operands first; f64 products are fused multiply-adds of f64.  Tensor cores
add several products at once in an unspecified order, so the order of a float sum must
be free.

f32 operands are split into sums of tf32 numbers (11 significant bits): the first part
is x rounded, halfway cases away from zero; the second is the remainder, rounded alike.
Together they miss at most 2^-22 of x.  Infinities, NaN and values that would round to
infinity are one part, of which tensor cores read the first 11 bits.  Infinity times the
small part of a number may differ in sign from infinity times the large part, which
gives NaN.

A lane holds elements of 16 rows or columns and of 32 bytes along the reduction.
``ldmatrix`` reads four tiles of 8 rows of 16 bytes and transposes those of an operand
that is not contiguous along the reduction.  64-bit elements, and operands without such
rows, are loaded element by element.

A lane's result fragment has two elements of a row.  The block stages eight rows of each
row of warps in shared memory, synchronises, and each thread stores contiguous elements
with the fused epilogue, until all rows are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    UnitAttr,
)
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I32,
    I64,
    FloatType,
    MemRefType,
    Type,
    VectorType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.gpu.staging import SharedLayout, Terms, Tiles
from gpucodegen.passes.contraction.gpu.thread_tile import Cells, Piece
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.outlining.gpu_launch import SHARED
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP, multiplies_octets
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, slice_shape, terms_of
from gpucodegen.tiling.machine.gpu.product_tiles import WarpTiles
from gpucodegen.tiling.machine.gpu.shared_copies import (
    DOUBLE,
    EITHER_WAY,
    LINE,
    OCTET,
    ROW,
)

PASSES = {"tf32": 1, "3xtf32": 3}
"""tf32 products for one f32 product, by the requested precision."""
OCTETS = FloatType("f8E4M3FN"), FloatType("f8E5M2")
"""8-bit floats that some devices multiply natively."""
EXACT_IN_F16 = frozenset({"f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4"})
"""8-bit floats whose values are all representable in f16."""


def on_tensor_cores(contraction: Contraction) -> Contraction | None:
    """The contraction with operands as fragments hold them, or None.

    8-bit floats become f16 where the architecture has no instruction for them.
    ``element`` stays the type of the sums.
    """
    is_free = contraction.reassociable or contraction.element == I32
    if contraction.words is not None or contraction.scale is not None or not is_free:
        return None
    factors = contraction.left, contraction.right
    found = [_narrowed(factor, contraction.element) for factor in factors]
    for kind in (*_octets(contraction), F16, BF16, I8):
        left, right = (each and _held_as(each, kind) for each in found)
        if left is not None and right is not None:
            return replace(contraction, left=left, right=right)
    types = {contraction.element, *map(type_of, factors)}
    is_asked = types == {F32} and contraction.precision in PASSES
    return contraction if types == {F64} or is_asked else None


def _octets(contraction: Contraction) -> tuple[Type, ...]:
    """8-bit types that stay, as both operands are contiguous along the terms."""
    is_along = all(
        factor.coefficient(len(factor.indices) - 1, contraction.reduction[-1]) == 1
        for factor in (contraction.left, contraction.right)
    )
    return OCTETS if is_along and multiplies_octets(contraction.arch) else ()


def type_of(factor: Operand) -> Type:
    if factor.steps:
        return factor.steps[-1][0].result.type
    return element_type(factor.memref.type)


def _narrowed(factor: Operand, sums: Type) -> Operand | None:
    """The operand before it was widened to the type of the sums, or None."""
    if not factor.steps:
        return None
    *steps, (last, place) = factor.steps
    widening = dict[Type, str]({F32: "arith.extf", I32: "arith.extsi"}).get(sums)
    if place is not None or last.name != widening:
        return None
    if all(place is not None for _, place in steps):
        return replace(factor, steps=())
    return replace(factor, steps=tuple(steps))


def _held_as(factor: Operand, kind: Type) -> Operand | None:
    """The operand in a tensor-core type that represents all of its values, or None."""
    found = type_of(factor)
    if found == kind:
        return factor
    is_small = isinstance(found, FloatType) and found.name in EXACT_IN_F16 & NARROW
    return factor.converted("arith.extf", F16) if is_small and kind == F16 else None


REGISTER = 4
"""Bytes of a register."""


@dataclass(frozen=True, slots=True)
class Side:
    """One operand in shared memory: the position and the term of a lane's row.

    ``left``: tiles of operand A are numbered along its rows first, those of B along its
    terms.
    """

    held: SharedLayout
    kind: Type
    position: Index
    term: Index
    left: bool

    @staticmethod
    def of(
        b: Builder,
        held: SharedLayout,
        kind: Type,
        first: Index,
        lane: Index,
        *,
        left: bool,
    ) -> Side:
        """The operand of the rows, or of the columns, of a warp, from ``first`` on."""
        size, inner = element_bytes(kind) or 1, lane % OCTET
        numbers = lane // OCTET % 2, lane // (2 * OCTET)
        down, along = numbers if left else numbers[::-1]
        if not _in_rows(held, kind):
            at = lane // LINE, lane % LINE * _each(kind)
        elif held.by_position:
            at = inner + down * OCTET, along * (ROW // size)
        else:
            at = down * OCTET, inner + along * OCTET
        position, term = (Index.of(b.index(n, "at")) for n in (first + at[0], at[1]))
        return Side(held, kind, position, term, left)

    def fragment(self, registers: int) -> VectorType:
        """The type of a lane's fragment in that many 32-bit registers."""
        size, each = element_bytes(self.kind) or 1, _each(self.kind)
        return VectorType((registers * REGISTER // (each * size), each), self.kind)

    def loaded(
        self, b: Builder, tile: Value, stage: Index, position: int, term: Index
    ) -> Value:
        """The fragment of 16 positions and 32 bytes of terms of a stage."""
        ty, flags = self.fragment(4), dict[str, Attribute]()
        where = self.term + term, self.position + position
        if _in_rows(self.held, self.kind):
            name = "nvgpu.ldmatrix"
            flags["numTiles"] = IntegerAttr(4, I32)
            flags["transpose"] = IntegerAttr(int(not self.held.by_position), I1)
            operands = [tile, *map(b.index, self.held.place(stage, *where))]
        else:
            name = "vector.from_elements"
            operands = [
                self.held.element(b, tile, stage, where[0] + k, where[1] + n)
                for n, k in self._own
            ]
        hint = "a" if self.left else "b"
        (value,) = b.add(name, operands, [ty], flags, hint=hint)
        return value

    @property
    def _own(self) -> list[tuple[int, int]]:
        """Positions and terms of a lane's elements, from its first one."""
        each, halves = _each(self.kind), (0, OCTET)
        if element_bytes(self.kind) == DOUBLE:
            return [(n, 0) for n in halves]
        ends = 0, LINE * each
        tiles = [(n, k) for k, n in product(ends, halves)]
        if not self.left:
            tiles = [(n, k) for n, k in product(halves, ends)]
        return [(n, k + one) for n, k in tiles for one in range(each)]


def _each(kind: Type) -> int:
    """Elements of a 32-bit register, or of two for 64-bit elements."""
    return max(1, REGISTER // (element_bytes(kind) or 1))


def _in_rows(held: SharedLayout, kind: Type) -> bool:
    """Whether ``ldmatrix`` reads them: it transposes 16-bit elements only."""
    size, lies = element_bytes(kind) or 1, held.by_position
    return size != DOUBLE and (lies is True or (lies is False and size in EITHER_WAY))


HALF = 0x1000
"""Half of the last tf32 significand bit, in the bits of an f32."""
KEPT = -0x2000
"""Mask of the f32 bits that tf32 has."""
BEYOND = float.fromhex("0x1.ffep127")
"""The smallest magnitude that would round to infinity."""


def tf32_parts(b: Builder, value: Value, count: int) -> list[Value]:
    """One or two tf32 numbers for each f32 of a vector, the large ones first."""
    first, fits = _rounded(b, value, is_exact=count > 1)
    if count == 1:
        return [first]
    ty = value.type
    (left,) = b.add("arith.subf", (value, first), [ty], hint="left")
    zeros = b.constant(0, ty)
    (left,) = b.add("arith.select", (fits, left, zeros), [ty], hint="left")
    return [first, _rounded(b, left)[0]]


def _rounded(
    b: Builder, value: Value, *, is_exact: bool = False
) -> tuple[Value, Value]:
    """The numbers rounded to tf32, and which of them were rounded.

    ``is_exact``: without the bits that tensor cores do not read.
    """
    ty = value.type
    assert isinstance(ty, VectorType)
    words, bits = VectorType(ty.shape, I32), VectorType(ty.shape, I1)

    def integer(name: str, left: Value, number: int) -> Value:
        return b.add(name, (left, b.constant(number, words)), [words], hint="code")[0]

    (code,) = b.add("arith.bitcast", (value,), [words], hint="code")
    (magnitude,) = b.add("math.absf", (value,), [ty], hint="magnitude")
    below = {"predicate": IntegerAttr(BELOW, I64)}
    limit = b.constant(BEYOND, ty)
    (fits,) = b.add("arith.cmpf", (magnitude, limit), [bits], below, hint="fits")
    near = integer("arith.addi", code, HALF)
    near = integer("arith.andi", near, KEPT) if is_exact else near
    (kept,) = b.add("arith.select", (fits, near, code), [words], hint="code")
    (rounded,) = b.add("arith.bitcast", (kept,), [ty], hint="tf32")
    return rounded, fits


BELOW = 4
"""``olt`` among the predicates of ``arith.cmpf``; false for NaN."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A thread's position: the first row and column of its warp, its lane."""

    row: Index
    column: Index
    number: Index

    @staticmethod
    def of(b: Builder, plan: WarpTiles, thread: Index) -> Lane:
        """Warps lie row by row on the block's tile."""
        across = plan.tile_columns // plan.warp_columns
        warp = Index.of(b.index(thread // WARP, "warp"))
        return Lane(
            Index.of(b.index(warp // across * plan.warp_rows, "row")),
            Index.of(b.index(warp % across * plan.warp_columns, "col")),
            Index.of(b.index(thread % WARP, "lane")),
        )


@dataclass(frozen=True, slots=True)
class Fragments:
    """The fragments of a warp, and how its lanes read those of the operands."""

    plan: WarpTiles
    kind: Type
    element: Type
    left: Side
    right: Side
    passes: int = 1

    @staticmethod
    def of(
        b: Builder,
        plan: WarpTiles,
        types: tuple[Type, Type],
        lane: Lane,
        held: tuple[SharedLayout, SharedLayout],
        passes: int = 1,
    ) -> Fragments:
        """The fragments of a thread; ``types``: of the operands and of the sums.

        ``passes``: tf32 products for one f32 product.
        """
        kind, (left, right), n = types[0], held, lane.number
        sides = (
            Side.of(b, left, kind, lane.row, n, left=True),
            Side.of(b, right, kind, lane.column, n, left=False),
        )
        return Fragments(plan, *types, *sides, passes)

    @property
    def grain(self) -> int:
        """Terms of one instruction."""
        return terms_of(element_bytes(self.kind) or 1)

    @property
    def counts(self) -> tuple[int, int]:
        """Fragments of the warp's rows and of its columns."""
        return self.plan.warp_rows // ROWS, self.plan.warp_columns // COLUMNS

    @property
    def type(self) -> VectorType:
        """The sums of one fragment: two rows, and two columns of each."""
        return VectorType((2, 2), self.element)

    def zeros(self, b: Builder) -> list[Value]:
        """No products yet."""
        down, across = self.counts
        return [b.constant(0, self.type)] * (down * across)

    def multiplied(
        self, b: Builder, tiles: Tiles, at: Terms, count: int, sums: Sequence[Value]
    ) -> tuple[Value, ...]:
        """Add the products of ``count`` terms of a stage."""
        stage, first = at
        number = b.index(stage, "stage")

        def term(i: Builder, k: Value, acc: Sequence[Value]) -> list[Value]:
            return self._term(i, tiles, Index.of(number), first + k, acc)

        found = b.carried_loop(0, count, sums, term, step=self.grain, hint="k")
        return tuple(found)

    def _term(
        self,
        b: Builder,
        tiles: Tiles,
        stage: Index,
        first: Index,
        sums: Sequence[Value],
    ) -> list[Value]:
        down, across = self.counts
        rows = [
            self._parts(b, self.left.loaded(b, tiles[0], stage, n * ROWS, first))
            for n in range(down)
        ]
        pairs = [
            self._parts(
                b, self.right.loaded(b, tiles[1], stage, n * 2 * COLUMNS, first)
            )
            for n in range(across // 2)
        ]
        columns = [
            [self._half(b, part, n) for part in pair]
            for pair in pairs
            for n in range(2)
        ]
        cells = [(row, column) for row in rows for column in columns]
        return [
            self._added(b, row, column, total)
            for (row, column), total in zip(cells, sums, strict=True)
        ]

    def _parts(self, b: Builder, loaded: Value) -> list[Value]:
        """The loaded fragments, split into tf32 parts for f32."""
        if self.kind != F32:
            return [loaded]
        return tf32_parts(b, loaded, 1 if self.passes == 1 else 2)

    def _added(
        self, b: Builder, row: list[Value], column: list[Value], total: Value
    ) -> Value:
        """Add the products of parts, smallest first, without small times small."""
        (high, *low), (other, *others) = row, column
        for part in low:
            total = self._product(b, part, other, total)
        for part in others:
            total = self._product(b, high, part, total)
        return self._product(b, high, other, total)

    def _half(self, b: Builder, pair: Value, number: int) -> Value:
        """The fragment of one of two columns of fragments."""
        name, ty = "vector.extract_strided_slice", self.right.fragment(2)
        rows = ty.shape[0]
        where: dict[str, Attribute] = {
            "offsets": _numbers(rows * number),
            "sizes": _numbers(rows),
            "strides": _numbers(1),
        }
        (half,) = b.add(name, (pair,), [ty], where, hint="b")
        return half

    def _product(self, b: Builder, row: Value, column: Value, total: Value) -> Value:
        flags: dict[str, Attribute] = {"mmaShape": _numbers(ROWS, COLUMNS, self.grain)}
        if self.kind == F32:
            flags["tf32Enabled"] = UnitAttr()
        operands = (row, column, total)
        (made,) = b.add("nvgpu.mma.sync", operands, [self.type], flags, hint="acc")
        return made


def _numbers(*values: int) -> ArrayAttr:
    return ArrayAttr(tuple(IntegerAttr(value, I64) for value in values))


@dataclass(frozen=True, slots=True)
class FragmentTile:
    """The block's tile of sums, and the shared-memory slice for its stores."""

    cells: Cells
    fragments: Fragments
    thread: Index
    lane: Lane
    slice: Value

    @staticmethod
    def of(
        b: Builder, cells: Cells, fragments: Fragments, thread: Index, lane: Lane
    ) -> FragmentTile:
        """The tile with a new slice in shared memory."""
        shape = slice_shape(fragments.plan)
        ty = MemRefType(shape, fragments.element, None, SHARED)
        made = b.allocate("memref.alloca", ty, "sums")
        return FragmentTile(cells, fragments, thread, lane, made)

    def load(self, b: Builder) -> list[Value]:
        """Zeros: initial values are added in the epilogue."""
        return self.fragments.zeros(b)

    def store(self, b: Builder, sums: Sequence[Value]) -> None:
        down, across = self.fragments.counts
        halves = ROWS // OCTET
        for n in range(down):
            line = sums[n * across : (n + 1) * across]
            for half in range(halves):
                self._put(b, line, half)
                b.add("gpu.barrier")
                self._taken(b, n * ROWS + half * OCTET)
                if (n, half) != (down - 1, halves - 1):
                    b.add("gpu.barrier")

    def _put(self, b: Builder, line: Sequence[Value], half: int) -> None:
        """Store one of the two rows of each fragment to the slice."""
        plan, lane = self.fragments.plan, self.lane
        ty = VectorType((2,), self.fragments.element)
        where = {"static_position": DenseArrayAttr(I64, (half,))}
        row = lane.row // plan.warp_rows * OCTET + lane.number // 4
        first = lane.column + lane.number % 4 * 2
        row, first = (Index.of(b.index(at, "at")) for at in (row, first))
        for n, fragment in enumerate(line):
            (pair,) = b.add("vector.extract", (fragment,), [ty], where)
            b.vector_store(pair, self.slice, [row, first + n * COLUMNS])

    def _taken(self, b: Builder, below: int) -> None:
        """Copy the slice to the result; its rows lie ``below`` those of their warps."""
        plan, width, place = self.fragments.plan, self.cells.width, self.cells.place
        side_by_side = plan.tile_columns // width
        pieces = plan.tile_rows // plan.warp_rows * OCTET * side_by_side

        def piece(i: Builder, first: Value) -> None:
            number = self.thread + first
            row, column = number // side_by_side, number % side_by_side * width
            row, column = (Index.of(i.index(at, "at")) for at in (row, column))
            down = row // OCTET * plan.warp_rows + row % OCTET + below
            where = Piece(
                Index.of(i.index(place.row + down, "i")),
                Index.of(i.index(place.column + column, "j")),
            )

            def stored(n: Builder) -> None:
                sums = n.vector_load(self.slice, [row, column], self.cells.piece_type)
                self.cells.stored(n, where, sums)

            is_whole = pieces % plan.threads == 0
            i.guard([] if is_whole else [Index.of(pieces - 1) - number], stored)

        b.loop(ZERO, pieces, piece, step=plan.threads, hint="piece")
