"""Staging of operand tiles from global to shared memory.

A block reads a tile into registers and stores it to a shared-memory stage later, or
starts asynchronous copies into the stage; meanwhile other stages are read.  Rows and
columns beyond the edge repeat the last ones, since their products are never stored;
reduction terms beyond the edge are zeros.  `KLoop` gives the positions of the reduction
axes for each K tile, `SharedLayout` the place of elements in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Protocol

from gpucodegen.dialects.nvgpu import copies
from gpucodegen.dialects.nvgpu.copies import ASYNCHRONOUS
from gpucodegen.ir.affine import divisor_of
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    MemRefType,
    Type,
    VectorType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.epilogue_fusion import fits
from gpucodegen.passes.contraction.gpu.axes import (
    Positions,
    bound,
    extent,
    unflatten,
)
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Tile, computed
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, divided
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.gpu_launch import SHARED
from gpucodegen.passes.outlining.vector_width import Definitions, vector_width
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.product_tiles import steps_of
from gpucodegen.tiling.machine.gpu.shared_copies import TileCopy

At = tuple[Index, Index, Index]
"""Stage, term and position of an element."""
Terms = tuple[Index, Index]
"""A stage, and the first of some terms in it."""
Tiles = tuple[Value, Value]
"""The staged tiles of both operands."""


class SharedLayout(Protocol):
    """A staged operand tile: terms of positions, which are rows or columns.

    ``stage`` is one of the kernel's own tiles.
    """

    @property
    def by_position(self) -> bool | None:
        """Whether its lines run along positions, or along terms.

        None where lines do not begin at multiples of 16 bytes, or hold other elements.
        """
        ...

    def place(self, stage: Index, term: Index, position: Index) -> list[Index]: ...

    def element(
        self, b: Builder, tile: Value, stage: Index, term: Index, position: Index
    ) -> Value: ...

    def line(self, b: Builder, tile: Value, at: At, ty: VectorType, hint: str) -> Value:
        """The values of a term at neighbouring positions, from the stage and place."""
        ...


@dataclass(frozen=True, slots=True)
class Stages:
    """Stages that the kernel copies itself, in the layout of ``copy``."""

    copy: TileCopy

    @property
    def by_position(self) -> bool:
        return self.copy.by_position

    def place(self, stage: Index, term: Index, position: Index) -> list[Index]:
        """The stage, the line, and the place in it."""
        return [stage, *map(Index.of, self.copy.cell(term, position))]

    def element(
        self, b: Builder, tile: Value, stage: Index, term: Index, position: Index
    ) -> Value:
        return b.load(tile, self.place(stage, term, position))

    def line(self, b: Builder, tile: Value, at: At, ty: VectorType, hint: str) -> Value:
        return b.vector_load(tile, self.place(*at), ty, hint)


@dataclass(frozen=True, slots=True)
class KLoop:
    """Terms of the ``axes``, the last one fastest, in K tiles of ``depth``.

    The first K tile begins ``before`` terms too early where there is no whole number of
    tiles.
    """

    axes: tuple[Axis, ...]
    depth: int

    @property
    def blocks(self) -> Index:
        return extent(self.axes).ceildiv(self.depth)

    @property
    def before(self) -> Index:
        """Padding terms of the first K tile."""
        return self.blocks * self.depth - extent(self.axes)

    def number(self, block: Index, term: Index) -> Index:
        """The number of a term of a K tile; negative for padding."""
        return block * self.depth + term - self.before

    def at(self, block: Index, term: Index) -> Positions:
        """Positions of the axes at a term of a K tile.

        Where K tiles advance evenly, the parts that depend on the term are
        loop-invariant, and the others are equal for all terms.
        """
        steps = steps_of([extent((axis,)).constant for axis in self.axes], self.depth)
        if steps is None:
            return unflatten(self.number(block, term), self.axes)
        axis, outer = self.axes[steps.axis], self.axes[: steps.axis]
        inner = unflatten(term % steps.inner, self.axes[steps.axis + 1 :])
        step, within = Index.of(steps.step), term // steps.inner
        if not outer:
            missing = self.before // steps.inner
            return inner | {axis.iv: block * step + within - missing}
        each = extent((axis,)) // step
        assert each.constant is not None
        lines, place = divided(block, each.constant)
        return inner | {axis.iv: place * step + within} | unflatten(lines, outer)


End = tuple[Value, Sequence[Index]]
"""A memref and indices."""


def contiguity(
    operand: Operand,
    axes: Sequence[Axis],
    reduction: Sequence[Axis],
    definitions: Definitions,
) -> tuple[bool, int]:
    """Whether an operand is contiguous along the terms, and elements per access.

    Elements per access divide the extent of their axis, since the first K tile is
    padded in front and positions are clamped to whole accesses. A dynamic extent allows
    the known divisors of its expression.
    """
    b = Builder()
    b.load(operand.memref, operand.indices)
    (access,) = b.operations
    is_simple = operand.is_of_one and all(fits(op) for op, _ in operand.steps)
    found: list[tuple[int, bool]] = []
    for group, along_depth in ((axes, False), (reduction, True)):
        inner = group[-1]
        if operand.coefficient(len(operand.indices) - 1, inner) == 1:
            width = vector_width(access, inner.iv, definitions)
            size = inner.size
            divisor = divisor_of(size.expr, [1] * len(size.values))
            widest = gcd(width, divisor) if is_simple else 1
            found.append((widest, along_depth))
    width, along_depth = max(found, key=lambda one: one[0], default=(1, False))
    return along_depth, width


def can_be_direct(operand: Operand, element: Type, width: int) -> bool:
    """Whether ``cp.async`` can copy chunks: no conversion, 4 to 16 bytes."""
    is_plain = operand.is_of_one and not operand.steps
    same = element_type(operand.memref.type) == element
    size = width * (element_bytes(element) or 0)
    return is_plain and same and size in ASYNCHRONOUS.widths


@dataclass(frozen=True, slots=True)
class Chunk:
    """Elements of a tile that one thread reads at once.

    ``term`` and ``position`` are those of the tile, ``exists`` >= 0 where the tile has
    the chunk at all; ``at``: the positions in the whole operand besides the terms.
    """

    term: Index
    position: Index
    at: Positions
    exists: Index


Chunks = Sequence[Chunk]
TermPositions = Callable[[Index], Positions]
"""The positions of the reduction axes at a term of one K tile."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Staging of an operand: ``axes`` index it besides the ``walk``.

    ``first``: its first position.  ``in_loops``: a thread's asynchronous copies are
    written as a loop.  A proof has fewer of them to compare, and the compiler unrolls
    them; written out, common address parts are computed once.  ``apart``: the copies of
    several K tiles are in straight code, so common address parts are separated.
    """

    operand: Operand
    axes: tuple[Axis, ...]
    walk: KLoop
    batch: Positions
    first: Index
    copy: TileCopy
    element: Type
    in_loops: bool = False
    apart: bool = False

    def allocate(self, b: Builder, stages: int, hint: str) -> Value:
        """The stages in shared memory: ``[stage]``, then as the copy says."""
        ty = MemRefType((stages, *self.copy.shape), self.element, None, SHARED)
        return b.allocate("memref.alloca", ty, hint)

    def chunks(self, b: Builder, thread: Index) -> list[Chunk]:
        """The chunks of a thread, with the parts that do not depend on the K tile."""
        copy, first = self.copy, self._chunk(b, thread, is_first=True)
        made, known = [first], {first.position: first.at}
        for number in range(1, copy.per_thread):
            moved = copy.moved(number) if copy.chunks % copy.threads == 0 else None
            if moved is None:
                made.append(self._chunk(b, thread + number * copy.threads))
                continue
            position = first.position + moved[1]
            if position not in known:
                known[position] = self._at(b, position)
            made.append(Chunk(first.term + moved[0], position, known[position], ZERO))
        return made

    def _further(
        self, b: Builder, first: Chunk, moved: tuple[Index | int, Index | int]
    ) -> Chunk:
        """The chunk that many terms and positions further on, which exists."""
        term, position = first.term + moved[0], first.position + moved[1]
        return Chunk(term, position, self._at(b, position), ZERO)

    def _chunk(self, b: Builder, number: Index, *, is_first: bool = False) -> Chunk:
        copy = self.copy
        exists = Index.of(copy.chunks - 1) - number
        if copy.chunks % copy.threads == 0:
            exists = ZERO
        else:
            number = Index.of(b.smallest([number, Index.of(copy.chunks - 1)], "chunk"))
        places = zip(copy.place(number, is_first=is_first), ("k", "p"), strict=True)
        term, position = (
            at if at.constant is not None else Index.of(b.index(at, hint))
            for at, hint in places
        )
        return Chunk(term, position, self._at(b, position), exists)

    def _at(self, b: Builder, position: Index) -> Positions:
        """Positions of the axes at a position of the tile."""
        return bound(b, unflatten(self._inside(b, self.first + position), self.axes))

    def _inside(self, b: Builder, position: Index) -> Index:
        """The position clamped to the operand."""
        size = extent(self.axes)
        if size.constant is not None and size.constant % self.copy.size == 0:
            return position
        wide = 1 if self.copy.along_depth else self.copy.width
        return Index.of(b.smallest([position, size - wide], "inside"))

    def fetch(
        self, b: Builder, chunks: Chunks, block: Index, *, ragged: bool
    ) -> list[Value]:
        """Load the chunks of a K tile.

        ``ragged``: its padding terms are zeros.
        """
        terms = self._terms(b, block)
        return [self._fetched(b, chunk, block, terms, ragged) for chunk in chunks]

    def _fetched(
        self, b: Builder, chunk: Chunk, block: Index, terms: TermPositions, ragged: bool
    ) -> Value:
        at = self._positions(terms, chunk)
        if not ragged:
            return self._loaded(b, at)
        return b.choose(
            [self.walk.number(block, chunk.term)],
            lambda i: self._loaded(i, at),
            lambda i: i.constant(0, self._chunk_type),
        )

    def _terms(self, b: Builder, block: Index) -> TermPositions:
        """The positions of terms of a K tile; several chunks are of one term."""
        known, divisions = dict[Index, Positions](), dict[Index, Index]()

        def at(term: Index) -> Positions:
            if term not in known:
                found = self.walk.at(block, term)
                known[term] = found if self.apart else bound(b, found, divisions)
            return known[term]

        return at

    def _positions(self, terms: TermPositions, chunk: Chunk) -> Positions:
        """Positions of the axes at the first element of a chunk."""
        return self.batch | terms(chunk.term) | chunk.at

    @property
    def _chunk_type(self) -> Type:
        width = self.copy.width
        return VectorType((width,), self.element) if width > 1 else self.element

    def _loaded(self, b: Builder, at: Positions) -> Value:
        if self.copy.width == 1:
            return self.operand.value(b, at)
        ty, memref = self._chunk_type, self.operand.memref
        assert isinstance(ty, VectorType)
        if self.operand.steps:
            inner = self.walk.axes[-1] if self.copy.along_depth else self.axes[-1]
            return computed(b, Tile(at, {inner: self.copy.width}), self.operand.steps)
        return b.vector_load(memref, self.operand.at(at), ty)

    def start(
        self, b: Builder, chunks: Chunks, block: Index, tile: Value, stage: Index
    ) -> None:
        """Start asynchronous copies of chunks of a K tile that exists to a stage."""
        apart = self.copy.apart if self.in_loops else None
        if apart is None:
            self._start(b, chunks, block, tile, stage)
            return

        def one(i: Builder, number: Value) -> None:
            n, first = Index.of(number), chunks[0]
            chunk = self._further(i, first, (n * apart[0], n * apart[1]))
            self._start(i, [chunk], block, tile, stage)

        b.loop(0, len(chunks), one, hint="chunk")

    def _start(
        self, b: Builder, chunks: Chunks, block: Index, tile: Value, stage: Index
    ) -> None:
        terms = self._terms(b, block)
        stage = Index.of(b.index(stage, "stage")) if stage.constant is None else stage
        for chunk in chunks:
            at = self._positions(terms, chunk)
            source = self.operand.memref, self.operand.at(at)
            target = tile, [stage, *self.copy.cell(chunk.term, chunk.position)]
            b.guard(
                [chunk.exists],
                lambda i, s=source, t=target: self._started(i, s, t),
            )

    def _started(self, b: Builder, source: End, target: End) -> None:
        start, place = ([ref, *map(b.index, at)] for ref, at in (source, target))
        width = self.copy.width
        made = copies.copy(start, place, width, b.location, apart=self.apart)
        b.operations.append(made)

    def put(
        self,
        b: Builder,
        chunks: Chunks,
        values: Sequence[Value],
        tile: Value,
        stage: Index,
    ) -> None:
        for chunk, value in zip(chunks, values, strict=True):
            b.guard(
                [chunk.exists],
                lambda i, c=chunk, v=value: self._stored(i, c, v, tile, stage),
            )

    def _stored(
        self, b: Builder, chunk: Chunk, value: Value, tile: Value, stage: Index
    ) -> None:
        copy = self.copy
        where = [stage, *copy.cell(chunk.term, chunk.position)]
        if copy.width == 1:
            b.store(value, tile, where)
        elif not copy.is_turned:
            b.vector_store(value, tile, where)
        else:
            for n in range(copy.width):
                along, across = (n, 0) if copy.along_depth else (0, n)
                cell = copy.cell(chunk.term + along, chunk.position + across)
                b.store(b.element(value, n), tile, [stage, *cell])
