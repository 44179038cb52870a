"""A contraction as a GPU kernel: shared-memory tiles, a register tile per thread.

    grid (column tiles, row tiles, batch); block of threads_y x threads_x threads
    acc = C tile of the thread
    for k0 in K step depth:
      all threads copy  A tile -> shared a[depth][tile_rows],
                        B tile -> shared b[depth][tile_columns]
      barrier
      for k in depth: acc += a[k][rows of the thread] (x) b[k][columns of the thread]
      barrier
    C tile = acc

Several row, column or reduction axes are walked as one flattened index (implicit GEMM),
so a convolution is the same kernel as a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.cpu import column_axis, row_axis
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.gpu_launch import SHARED, Kernel, thread_index
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis
from gpucodegen.tiling.gpu_plan import GpuPlan

Positions = dict[Value, Index]


@dataclass(frozen=True, slots=True)
class Groups:
    """The axes as one row, one column, one reduction and one batch index."""

    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    batch: tuple[Axis, ...]


def groups_of(contraction: Contraction) -> Groups | None:
    """Flatten rows and columns as far as they stay one strided dimension of C."""
    row = row_axis(contraction)
    if row is None or contraction.guards:
        return None
    rows = _collapsible(contraction, contraction.rows, row)
    columns = _collapsible(contraction, contraction.columns, column_axis(contraction))
    chosen = {*rows, *columns, *contraction.reduction}
    batch = tuple(axis for axis in contraction.axes if axis not in chosen)
    return Groups(rows, columns, contraction.reduction, batch)


def _collapsible(
    contraction: Contraction, axes: Sequence[Axis], inner: Axis
) -> tuple[Axis, ...]:
    """Axes around ``inner`` that together walk C with one stride, outermost first."""
    result = contraction.result
    shape = (
        result.memref.type.shape if isinstance(result.memref.type, MemRefType) else ()
    )
    group = [inner]
    dimension = result.dimensions_of(inner)[0]
    while dimension > 0 and shape[dimension] == group[0].extent:
        dimension -= 1
        found = [a for a in axes if result.coefficient(dimension, a) == 1]
        if len(found) != 1:
            break
        group.insert(0, found[0])
    return tuple(group)


def extent(axes: Sequence[Axis]) -> int:
    """Number of positions of a flattened group."""
    return prod(axis.extent for axis in axes)


def unflatten(index: Index, axes: Sequence[Axis]) -> Positions:
    """Positions of the axes at a flattened index, the last axis fastest."""
    positions: Positions = {}
    inner = 1
    for axis in reversed(axes):
        position = index // inner if inner > 1 else index
        positions[axis.iv] = position % axis.extent if axis is not axes[0] else position
        inner *= axis.extent
    return positions


def grid(groups: Groups, plan: GpuPlan) -> tuple[int, int, int]:
    """Blocks along x (columns), y (rows) and z (batch)."""
    return (
        -(-extent(groups.columns) // plan.tile_columns),
        -(-extent(groups.rows) // plan.tile_rows),
        extent(groups.batch),
    )


def lower(contraction: Contraction, groups: Groups, plan: GpuPlan) -> Kernel:
    """The kernel of a contraction."""
    builder = Builder(contraction.location)
    _Lowering(contraction, groups, plan).build(builder)
    blocks = tuple(Index.of(n) for n in grid(groups, plan))
    return Kernel(tuple(builder.operations), blocks, (plan.threads, 1, 1))


@dataclass(frozen=True, slots=True)
class _Side:
    """One operand with its shared tile and the group that indexes it besides K."""

    operand: Operand
    axes: tuple[Axis, ...]
    size: int
    tile: Value
    first: Index


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    groups: Groups
    plan: GpuPlan

    def build(self, b: Builder) -> None:
        plan, groups, c = self.plan, self.groups, self.contraction
        left_tile = b.allocate("memref.alloca", self._tile_type(plan.tile_rows), "sa")
        right_tile = b.allocate(
            "memref.alloca", self._tile_type(plan.tile_columns), "sb"
        )
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        block_x = Index.of(thread_index(b, "block_id", "x", "bx"))
        block_y = Index.of(thread_index(b, "block_id", "y", "by"))
        batch: Positions = {}
        if groups.batch:
            block_z = thread_index(b, "block_id", "z", "bz")
            batch = unflatten(Index.of(block_z), groups.batch)
        left = _Side(
            c.left, groups.rows, plan.tile_rows, left_tile, block_y * plan.tile_rows
        )
        right = _Side(
            c.right,
            groups.columns,
            plan.tile_columns,
            right_tile,
            block_x * plan.tile_columns,
        )
        threads_x = plan.tile_columns // plan.thread_columns
        row = b.index((thread // threads_x) * plan.thread_rows, "row")
        column = b.index((thread % threads_x) * plan.thread_columns, "col")
        where = _ResultTile(self, batch, left.first + row, right.first + column)
        accumulator = where.load(b)

        def block(i: Builder, k0: Value, acc: Sequence[Value]) -> list[Value]:
            self._copy(i, thread, left, Index.of(k0), batch)
            self._copy(i, thread, right, Index.of(k0), batch)
            i.add("gpu.barrier")
            total = i.carried_loop(
                0,
                plan.depth,
                acc,
                lambda n, k, a: [self._step(n, k, a[0], row, column, left, right)],
                hint="k",
            )
            i.add("gpu.barrier")
            return list(total)

        (total,) = b.carried_loop(
            0,
            extent(groups.reduction),
            [accumulator],
            block,
            step=plan.depth,
            hint="k0",
        )
        where.store(b, total)

    def _tile_type(self, size: int) -> MemRefType:
        return MemRefType(
            (self.plan.depth, size), self.contraction.element, None, SHARED
        )

    def _step(
        self,
        b: Builder,
        k: Value,
        acc: Value,
        row: Value,
        column: Value,
        left: _Side,
        right: _Side,
    ) -> Value:
        element = self.contraction.element
        a = b.vector_load(
            left.tile, [k, row], VectorType((self.plan.thread_rows,), element), "a"
        )
        lanes = b.vector_load(
            right.tile,
            [k, column],
            VectorType((self.plan.thread_columns,), element),
            "b",
        )
        return b.outerproduct(a, lanes, acc)

    def _copy(
        self, b: Builder, thread: Index, side: _Side, k0: Index, batch: Positions
    ) -> None:
        """All threads copy one tile; neighbours take neighbouring addresses."""
        total = self.plan.depth * side.size
        last = self.groups.reduction[-1]
        operand = side.operand
        k_fastest = operand.coefficient(len(operand.indices) - 1, last) == 1

        def element(i: Builder, number: Value) -> None:
            flat = thread + Index.of(number)
            if k_fastest:
                k, position = flat % self.plan.depth, flat // self.plan.depth
            else:
                k, position = flat // side.size, flat % side.size
            depth = i.index(k, "k")
            place = i.index(position, "p")
            self._copy_element(i, side, k0, depth, place, batch)

        def guarded(i: Builder, number: Value) -> None:
            inside = Index.of(total - 1) - thread - number
            exact = total % self.plan.threads == 0
            i.guard([] if exact else [inside], lambda n: element(n, number))

        b.loop(0, total, guarded, step=self.plan.threads, hint="e")

    def _copy_element(
        self,
        b: Builder,
        side: _Side,
        k0: Index,
        depth: Value,
        place: Value,
        batch: Positions,
    ) -> None:
        k, position = k0 + depth, side.first + place
        at = (
            batch | unflatten(k, self.groups.reduction) | unflatten(position, side.axes)
        )
        limits = [
            Index.of(total - 1) - index
            for total, index, size in (
                (extent(self.groups.reduction), k, self.plan.depth),
                (extent(side.axes), position, side.size),
            )
            if total % size
        ]

        def inside(i: Builder) -> None:
            value = side.operand.value(i, at)
            i.store(value, side.tile, [depth, place])

        def outside(i: Builder) -> None:
            i.store(i.constant(0, self.contraction.element), side.tile, [depth, place])

        b.guard(limits, inside, outside)


@dataclass(frozen=True, slots=True)
class _ResultTile:
    """The thread's tile of C, read and written through its flattened groups."""

    lowering: _Lowering
    batch: Positions
    row: Index
    column: Index

    @property
    def _type(self) -> VectorType:
        plan = self.lowering.plan
        shape = (plan.thread_rows, plan.thread_columns)
        return VectorType(shape, self.lowering.contraction.element)

    @property
    def _direct(self) -> bool:
        """Whether rows and columns are plain dimensions of C."""
        groups = self.lowering.groups
        return len(groups.rows) == len(groups.columns) == 1

    def _where(self, row: Index, column: Index) -> list[Index]:
        groups = self.lowering.groups
        at = (
            self.batch | unflatten(row, groups.rows) | unflatten(column, groups.columns)
        )
        return self.lowering.contraction.result.at(at)

    def _dimensions(self) -> list[int]:
        groups, result = self.lowering.groups, self.lowering.contraction.result
        return [result.dimensions_of(g[0])[0] for g in (groups.rows, groups.columns)]

    @property
    def _exact(self) -> bool:
        plan, groups = self.lowering.plan, self.lowering.groups
        return (
            extent(groups.rows) % plan.tile_rows == 0
            and extent(groups.columns) % plan.tile_columns == 0
        )

    def load(self, b: Builder) -> Value:
        """The accumulators' initial values."""
        memref = self.lowering.contraction.result.memref
        if self._direct:
            return b.transfer_read(
                memref,
                self._where(self.row, self.column),
                self._type,
                self._dimensions(),
                in_bounds=self._exact,
                hint="acc",
            )
        private = self._private(b)

        def element(i: Builder, where: list[Index], place: list[Value]) -> None:
            i.store(i.load(memref, where), private, place)

        self._each(b, element)
        return b.transfer_read(private, [0, 0], self._type, [0, 1], hint="acc")

    def store(self, b: Builder, total: Value) -> None:
        """Write the accumulators back."""
        memref = self.lowering.contraction.result.memref
        if self._direct:
            b.transfer_write(
                total,
                memref,
                self._where(self.row, self.column),
                self._dimensions(),
                in_bounds=self._exact,
            )
            return
        private = self._private(b)
        b.transfer_write(total, private, [0, 0], [0, 1])

        def element(i: Builder, where: list[Index], place: list[Value]) -> None:
            i.store(i.load(private, place), memref, where)

        self._each(b, element)

    def _private(self, b: Builder) -> Value:
        shape = self._type.shape
        return b.allocate(
            "memref.alloca", MemRefType(shape, self._type.element), "part"
        )

    def _each(
        self,
        b: Builder,
        body: Callable[[Builder, list[Index], list[Value]], None],
    ) -> None:
        """Every element of the tile that lies inside C."""
        rows, columns = self._type.shape
        groups = self.lowering.groups

        def element(i: Builder, r: Value, s: Value) -> None:
            row, column = self.row + r, self.column + s
            limits = [
                Index.of(extent(axes) - 1) - index
                for axes, index in ((groups.rows, row), (groups.columns, column))
            ]
            inside = [] if self._exact else limits
            i.guard(inside, lambda n: body(n, self._where(row, column), [r, s]))

        b.loop(
            0,
            rows,
            lambda i, r: i.loop(0, columns, lambda n, s: element(n, r, s), hint="s"),
            hint="r",
        )
