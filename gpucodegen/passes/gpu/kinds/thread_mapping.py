"""Perfectly nested parallel loops with a GPU thread for each iteration."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.mapped_loops import MappedLoop, mapped_loops

MAX_GRID_RANK = 3
THREADS: tuple[tuple[int, int, int], ...] = ((256, 1, 1), (32, 8, 1), (32, 4, 2))
"""Block shape by number of mapped loops; x runs along the innermost one."""


def threads_of(nest: Nest) -> list[Operation] | None:
    """A kernel with a thread for each iteration of the outer parallel loops."""
    chain = parallel_chain(nest.op, nest.analysis)
    return nest.mapper.launch(thread_per_iteration(chain)) if chain else None


def parallel_chain(
    op: Operation, analysis: NestAnalysis, most: int = MAX_GRID_RANK
) -> list[MappedLoop]:
    """Perfectly nested parallel loops from ``op`` inwards with rectangular bounds.

    No more than ``most`` of them.
    """
    chain: list[MappedLoop] = []
    while True:
        found = mapped_loops(op, analysis)
        ivs = {loop.iv for loop in chain}
        depends = any(
            v in ivs
            for loop in found
            for bound in (loop.lower, *loop.uppers)
            for v in bound.values
        )
        if not found or depends or len(chain) + len(found) > most:
            return chain
        chain += found
        inner = inner_operations(op)
        if len(inner) != 1:
            return chain
        op = inner[0]


def trip_count(loop: MappedLoop) -> Index:
    """Iterations by the first upper bound; the others are guarded in the kernel."""
    span = loop.uppers[0] - loop.lower
    return (span + (loop.step - 1)) // loop.step


def thread_per_iteration(chain: Sequence[MappedLoop]) -> KernelBody:
    """A kernel whose thread ``(x, y, z)`` runs one iteration of the chain."""
    block = THREADS[len(chain) - 1]
    b = Builder(chain[0].operation.location)
    grid = [Index.of(1)] * 3
    values: dict[Value, Value] = {}
    limits: list[Index] = []
    for dimension, loop in enumerate(reversed(chain)):
        name = "xyz"[dimension]
        thread = thread_index(b, "thread_id", name, f"t{name}")
        number = thread_index(b, "block_id", name, f"b{name}")
        position = Index.of(number) * block[dimension] + thread
        count = trip_count(loop)
        grid[dimension] = (count + (block[dimension] - 1)) // block[dimension]
        iv = b.index(loop.lower + position * loop.step, loop.iv.name)
        values[loop.iv] = iv
        exact = count.constant is not None and count.constant % block[dimension] == 0
        bounds = loop.uppers[1:] if exact else loop.uppers
        limits += [bound - 1 - iv for bound in bounds]
    body = inner_operations(chain[-1].operation)
    b.guard(
        limits,
        lambda i: i.operations.extend(substitute_values(op, values) for op in body),
    )
    return KernelBody(tuple(b.operations), tuple(grid), block)
