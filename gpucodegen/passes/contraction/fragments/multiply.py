"""What a warp multiplies: fragments of rows by fragments of columns.

Comes in: tiles of both factors in shared memory, and how they lie there.  Goes out:
sums as fragments of ``16 x 8`` elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import ArrayAttr, Attribute, IntegerAttr, UnitAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import F32, I64, Type, VectorType, element_bytes
from gpucodegen.passes.contraction.fragments.sides import Side
from gpucodegen.passes.contraction.fragments.tf32 import tf32_parts
from gpucodegen.passes.contraction.gpu.held import Held
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, terms_of
from gpucodegen.tiling.machine.gpu.product_tiles import WarpTiles


@dataclass(frozen=True, slots=True)
class Lane:
    """Where a thread stands: the first row and column of its warp, its lane."""

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
    """The fragments of a warp, and how its lanes read those of the factors."""

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
        held: tuple[Held, Held],
        passes: int = 1,
    ) -> Fragments:
        """Those of a thread; ``types``: of the factors and of the sums.

        ``passes``: products of tf32 for one of f32.
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
        self,
        b: Builder,
        tiles: tuple[Value, Value],
        stage: Index,
        first: Index,
        count: int,
        sums: Sequence[Value],
    ) -> tuple[Value, ...]:
        """Add the products of ``count`` terms of a stage from ``first`` on."""
        number = b.index(stage, "stage")

        def term(i: Builder, k: Value, acc: Sequence[Value]) -> list[Value]:
            return self._term(i, tiles, Index.of(number), first + k, acc)

        found = b.carried_loop(0, count, sums, term, step=self.grain, hint="k")
        return tuple(found)

    def _term(
        self,
        b: Builder,
        tiles: tuple[Value, Value],
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
        """What is loaded, of f32 as the tf32 numbers that make it up."""
        if self.kind != F32:
            return [loaded]
        return tf32_parts(b, loaded, 1 if self.passes == 1 else 2)

    def _added(
        self, b: Builder, row: list[Value], column: list[Value], total: Value
    ) -> Value:
        """The products of parts, smallest first, without that of both small ones."""
        (high, *low), (other, *others) = row, column
        for part in low:
            total = self._product(b, part, other, total)
        for part in others:
            total = self._product(b, high, part, total)
        return self._product(b, high, other, total)

    def _half(self, b: Builder, pair: Value, number: int) -> Value:
        """The fragment of one of two columns of them."""
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
