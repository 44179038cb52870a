"""Perfectly nested parallel loops with a GPU thread for each iteration."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.facts.mapped_loops import (
    MappedLoop,
    parallel_chain,
    trip_count,
)
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index

THREADS: tuple[tuple[int, int, int], ...] = ((256, 1, 1), (32, 8, 1), (32, 4, 2))
"""Block shape by number of mapped loops; x runs along the innermost one."""


def threads_of(nest: Nest) -> list[Operation] | None:
    """A kernel with a thread for each iteration of the outer parallel loops."""
    chain = parallel_chain(nest.op, nest.analysis, len(THREADS))
    return nest.mapper.launch(thread_per_iteration(chain)) if chain else None


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
