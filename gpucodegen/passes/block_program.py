"""Nests that use fast memory or asynchronous copies, mapped to whole blocks.

The parallel outer loops become the grid, one block per iteration.  All threads of the
block walk the rest of the program together; its parallel loops are divided among them
and end with a barrier, single stores are left to thread 0 between barriers, transfers
are executed once per block, cooperatively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Region, Value, substitute_values
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis import Analysis
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.gpu_launch import SHARED, Kernel, thread_index
from gpucodegen.passes.indexing import Index, from_map
from gpucodegen.passes.nests import Axis, axis_of, inner_operations
from gpucodegen.tiling.scop import statements

MAX_THREADS = 256
WARP = 32
TRANSFERS = frozenset({"memref.dma_start", "memref.dma_wait"})
ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})
STORES = frozenset({"affine.store", "memref.store", "affine.vector_store"})


def needs_block(op: Operation) -> bool:
    """Whether a nest holds transfers or its own buffers outside its parallel loops."""
    return any(
        inner.name in TRANSFERS
        or (inner.name in ALLOCATIONS and _is_fast(inner.results[0]))
        for inner in op.walk()
    )


def _is_fast(memref: Value) -> bool:
    return getattr(memref.type, "memory_space", None) is not None


@dataclass(frozen=True, slots=True)
class _BlockLoop:
    """A parallel loop whose iterations are blocks."""

    iv: Value
    lower: Index
    step: int
    count: Index


def block_program(op: Operation, analysis: Analysis) -> Kernel:
    """The kernel of a nest."""
    chain, body = _block_loops(op, analysis)
    threads = _threads(body, analysis)
    b = Builder(op.location)
    thread = thread_index(b, "thread_id", "x", "t")
    values: dict[Value, Value] = {}
    grid = [Index.of(1)] * 3
    for dimension, loop in enumerate(reversed(chain)):
        name = "xyz"[dimension]
        number = thread_index(b, "block_id", name, f"b{name}")
        grid[dimension] = loop.count
        values[loop.iv] = b.index(
            loop.lower + Index.of(number) * loop.step, loop.iv.name
        )
    program = _Program(analysis, thread, threads)
    inner = Builder(op.location)
    program.operations(inner, body)
    buffers = program.buffers.operations
    operations = [
        substitute_values(o, values | program.renamed) for o in inner.operations
    ]
    return Kernel((*b.operations, *buffers, *operations), tuple(grid), (threads, 1, 1))


def _block_loops(
    op: Operation, analysis: Analysis
) -> tuple[list[_BlockLoop], Sequence[Operation]]:
    """Parallel outer loops with one lower and one upper bound, and what they hold."""
    chain: list[_BlockLoop] = []
    body: Sequence[Operation] = (op,)
    while len(body) == 1 and len(chain) < 3:
        loop = _block_loop(body[0], analysis, {outer.iv for outer in chain})
        if loop is None:
            break
        chain.append(loop)
        body = inner_operations(body[0])
    return chain, body


def _block_loop(
    op: Operation, analysis: Analysis, outer: set[Value]
) -> _BlockLoop | None:
    if op.name != "affine.for" or op.results or not analysis.is_parallel(op):
        return None
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)
    if (
        len(lowers) != 1
        or len(uppers) != 1
        or outer & {*lowers[0].values, *uppers[0].values}
    ):
        return None
    count = (uppers[0] - lowers[0] + (loop.step - 1)) // loop.step
    return _BlockLoop(loop.iv, lowers[0], loop.step, count)


def _threads(operations: Sequence[Operation], analysis: Analysis) -> int:
    """Enough threads for the largest divided loop nest, at most `MAX_THREADS`."""
    largest = max(
        (
            prod(axis.extent for axis in _divided(inner, analysis))
            for op in operations
            for inner in op.walk()
            if inner.name == "affine.for"
        ),
        default=1,
    )
    return min(MAX_THREADS, -(-largest // WARP) * WARP)


def _divided(op: Operation, analysis: Analysis) -> list[Axis]:
    """Perfectly nested parallel loops with constant ranges, from ``op`` inwards."""
    axes: list[Axis] = []
    while op.name == "affine.for" and analysis.is_parallel(op):
        axis = axis_of(op)
        if axis is None:
            break
        axes.append(axis)
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return axes


def _is_uniform(op: Operation) -> bool:
    """Whether all threads must walk an operation together."""
    return any(inner.name in TRANSFERS | ALLOCATIONS for inner in op.walk())


@dataclass(slots=True)
class _Program:
    """Rewrites the body of a block."""

    analysis: Analysis
    thread: Value
    threads: int
    renamed: dict[Value, Value] = field(default_factory=dict[Value, Value])
    buffers: Builder = field(default_factory=Builder)

    def operations(self, b: Builder, operations: Sequence[Operation]) -> None:
        for op in operations:
            self._one(b, op)

    def _one(self, b: Builder, op: Operation) -> None:
        if op.name in ALLOCATIONS:
            self._buffer(op)
        elif op.name == "memref.dealloc":
            return
        elif op.name in STORES:
            self._alone(b, op)
        elif op.regions:
            self._structured(b, op)
        else:
            b.operations.append(op)

    def _structured(self, b: Builder, op: Operation) -> None:
        axes = [] if _is_uniform(op) else _divided(op, self.analysis)
        if axes:
            self._divide(b, axes)
            return
        regions = tuple(self._region(region, b) for region in op.regions)
        b.operations.append(op.with_(regions=regions))

    def _region(self, region: Region, b: Builder) -> Region:
        def rebuilt(operations: Sequence[Operation]) -> list[Operation]:
            return b.nested(lambda inner: self.operations(inner, operations))

        return Region(
            tuple(
                block.with_operations(rebuilt(block.operations))
                for block in region.blocks
            )
        )

    def _buffer(self, op: Operation) -> None:
        """Fast memory at the top of the kernel; flags of transfers keep their type."""
        old = op.results[0]
        ty = old.type
        if isinstance(ty, MemRefType) and not self._is_tag(old):
            ty = replace(ty, memory_space=SHARED)
        new = old.renewed(ty)
        self.renamed[old] = new
        self.buffers.operations.append(op.with_(name="memref.alloca", results=(new,)))

    def _is_tag(self, memref: Value) -> bool:
        scop, arrays = self.analysis.lifted.scop, self.analysis.lifted.arrays
        tags = {s.tag.array for s in statements(scop.body) if s.tag is not None}
        return any(arrays[name] is memref for name in tags)

    def _alone(self, b: Builder, op: Operation) -> None:
        """One thread executes a single store."""
        b.add("gpu.barrier")
        b.guard([Index.of(0) - self.thread], lambda i: i.operations.append(op))
        b.add("gpu.barrier")

    def _divide(self, b: Builder, axes: Sequence[Axis]) -> None:
        """Deal the iterations of a parallel nest out to the threads."""
        body = inner_operations(axes[-1].operation)
        total = prod(axis.extent for axis in axes)

        def iteration(inner: Builder, number: Value) -> None:
            values: dict[Value, Value] = {}
            position, size = Index.of(number), 1
            for axis in reversed(axes):
                here = position // size if size > 1 else position
                here = here % axis.extent if axis is not axes[0] else here
                values[axis.iv] = inner.index(axis.at(here), axis.name)
                size *= axis.extent
            inner.operations.extend(substitute_values(op, values) for op in body)

        b.loop(self.thread, total, iteration, step=self.threads, hint="e")
        b.add("gpu.barrier")
