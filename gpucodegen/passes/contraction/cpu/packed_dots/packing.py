"""How an array of narrow integers becomes an array of words of them.

Parts that are next to each other in memory are words as they are, or widened, several
at a time; of parts that are lines of the array, words are put together by shifts:

    W[.., w, n] = or over p < g of  (X[.., g w + p, n] mod 2**bits) << (bits p)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I32, IntegerType, MemRefType, VectorType
from gpucodegen.passes.contraction.cpu.ranges import grid
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.dot_kernels import WORD, Part


@dataclass(frozen=True, slots=True)
class Narrow:
    """A factor whose elements are widened, and the dimension of the words.

    ``zero``: what is subtracted from the widened elements.
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
        """Extents of the array."""
        ty = self.memref.type
        assert isinstance(ty, MemRefType)
        return tuple(extent or 0 for extent in ty.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether the parts of a word are next to each other in memory."""
        plain = getattr(self.memref.type, "layout", None) is None
        return plain and self.dimension == len(self.shape) - 1

    @property
    def widening(self) -> str:
        """The operation that widens them."""
        return "arith.extsi" if self.part.signed else "arith.extui"


def widened(b: Builder, source: Narrow, at: Sequence[Index]) -> Value:
    """An element as an i32."""
    value = b.load(source.memref, at, "x")
    return b.add(source.widening, (value,), [I32], hint="x")[0]


@dataclass(frozen=True, slots=True)
class WordPacking:
    """How an array becomes words of ``part`` along its dimension, up to ``extent``.

    Where the part has the other sign, the top bits are inverted.
    """

    source: Narrow
    part: Part
    extent: int
    lanes: int
    parallel: bool

    def build(self, b: Builder, groups: Axis) -> Operand:
        """Fill a buffer; what of it ``groups`` of the axis are."""
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
        """Words that are full."""
        return self.extent // self.part.count

    @property
    def _rest(self) -> int:
        """Parts of the word that is not full."""
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
    """The i32 with these bits."""
    return word - (1 << WORD) if word >> (WORD - 1) else word
