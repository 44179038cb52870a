"""The mapping stages as passes: parallelise, map to a grid, outline, prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.bounds_check import check_bounds
from gpucodegen.passes.dead_code import without_dead_code
from gpucodegen.passes.gpu_launch import gpu_module
from gpucodegen.passes.lifting import Surroundings
from gpucodegen.passes.lifting.surroundings import grouped
from gpucodegen.passes.map_gpu import GpuMapper
from gpucodegen.passes.outline_blocks import outline_blocks
from gpucodegen.passes.outline_cpu import CpuOutliner
from gpucodegen.passes.parallel_loops import CpuMapping, map_operations
from gpucodegen.passes.race_check import check_kernel
from gpucodegen.passes.vector_runs import made_into_vectors
from gpucodegen.tiling.cpu_problem import FIRST_CACHE, CpuModel, CpuTiles
from gpucodegen.tiling.gpu_plan import GpuPlan
from gpucodegen.tiling.register_tile import VectorUnit

Rewrite = Callable[[Sequence[Operation]], list[Operation]]


def in_functions(
    module: Module, rewrite: Callable[[Operation], Sequence[Operation]]
) -> Module:
    """Rewrite every function with a body; other operations stay."""
    operations: list[Operation] = []
    for op in module.operations:
        has_body = op.name == "func.func" and op.regions and op.regions[0].blocks
        is_kernel = "gcg.kernel" in op.attributes
        operations += rewrite(op) if has_body and not is_kernel else [op]
    return module.with_operations(operations)


def with_blocks(op: Operation, rewrite: Rewrite) -> Operation:
    """``op`` with the operations of each block of its region rewritten."""
    given = op.regions[0].blocks
    blocks = tuple(block.with_operations(rewrite(block.operations)) for block in given)
    is_same = all(new is old for new, old in zip(blocks, given, strict=True))
    return op if is_same else op.with_(regions=(Region(blocks),))


def _definitions(op: Operation) -> dict[Value, Operation]:
    return {value: inner for inner in op.walk() for value in inner.results}


def _users(op: Operation) -> dict[Value, list[Operation]]:
    users: dict[Value, list[Operation]] = {}
    for inner in op.walk():
        passed = (value for target in inner.successors for value in target.operands)
        for value in (*inner.operands, *passed):
            users.setdefault(value, []).append(inner)
    return users


@dataclass(frozen=True, slots=True)
class MapCpu(ModulePass):
    """Contractions to register tiles, parallel loops to ``affine.parallel``."""

    name: ClassVar[str] = "map-cpu"
    threads: int = 2
    vector_bits: int = 256
    registers: int = 16
    cache: int = 1 << 20
    rows: int = 0
    columns: int = 0
    k_block: int = 0
    row_block: int = 0
    contractions: bool = True
    relaxed: bool = False
    narrowest: int = 32
    first_cache: int = FIRST_CACHE

    def apply(self, module: Module) -> Module:
        """Map every function; ``relaxed`` permits another order of sums anywhere.

        ``narrowest``: bits of integers that are multiplied several in a word.
        """
        unit = VectorUnit(self.vector_bits, self.registers, narrowest=self.narrowest)
        tiles = CpuTiles(self.rows, self.columns, self.row_block, self.k_block)
        model = CpuModel(self.threads, unit, self.cache, self.first_cache)
        surroundings = Surroundings.of(module)
        mapping = CpuMapping(
            model, tiles, self.contractions, self.relaxed, surroundings
        )

        def mapped(op: Operation) -> list[Operation]:
            uses = {value: len(users) for value, users in _users(op).items()}
            own = replace(mapping, uses=uses)
            return [with_blocks(op, lambda ops: map_operations(ops, own))]

        return in_functions(module, mapped)


@dataclass(frozen=True, slots=True)
class OutlineCpu(ModulePass):
    """Runs of nests become kernel functions called by the host function."""

    name: ClassVar[str] = "outline-cpu"

    def apply(self, module: Module) -> Module:
        """Outline every function."""

        def outline(op: Operation) -> list[Operation]:
            name, groups = symbol_name(op), grouped(op)
            is_straight = len(op.regions[0].blocks) == 1
            outliner = CpuOutliner(
                name,
                is_straight,
                _definitions(op),
                _users(op),
                made_into_vectors(op),
                groups,
            )
            host = without_dead_code(with_blocks(op, outliner.operations))
            if not outliner.kernels and not is_straight:
                return outline_blocks(op, f"{symbol_name(op)}_k0") or [op]
            return [*outliner.kernels, host]

        return in_functions(module, outline)


@dataclass(frozen=True, slots=True)
class MapGpu(ModulePass):
    """Nests become ``gpu.func`` kernels, the function launches them.

    ``tile``: rows, columns and depth of a contraction's shared tiles and the rows and
    columns of each thread; empty leaves the choice to the model.  ``contractions``
    become fused multiply-adds on shared tiles.
    """

    name: ClassVar[str] = "map-gpu"
    tile: tuple[int, ...] = ()
    contractions: bool = True

    def apply(self, module: Module) -> Module:
        """Map every function."""
        plan = GpuPlan(*self.tile) if self.tile else None
        surroundings = Surroundings.of(module)

        def map_function(op: Operation) -> list[Operation]:
            mapper = GpuMapper(
                symbol_name(op),
                _definitions(op),
                plan,
                surroundings,
                self.contractions,
            )
            host = without_dead_code(with_blocks(op, mapper.operations))
            if not mapper.kernels:
                return [host]
            return [gpu_module(f"{mapper.module}_kernels", mapper.kernels), host]

        return in_functions(module, map_function)


@dataclass(frozen=True, slots=True)
class CheckBounds(ModulePass):
    """Accesses proven out of bounds are errors, possible ones warnings."""

    name: ClassVar[str] = "check-bounds"

    def apply(self, module: Module) -> Module:
        """Check every function."""
        surroundings = Surroundings.of(module)
        in_functions(module, lambda op: [check_bounds(op, surroundings)])
        return module


@dataclass(frozen=True, slots=True)
class VerifyKernels(ModulePass):
    """Prove every kernel, and every function with transfers, free of races."""

    name: ClassVar[str] = "verify-kernels"

    def apply(self, module: Module) -> Module:
        """Raise RaceFound with both positions and a witness where a proof fails."""
        surroundings = Surroundings.of(module)
        for op in module.walk():
            is_function = op.name in {"func.func", "gpu.func"}
            if is_function and op.regions and op.regions[0].blocks:
                check_kernel(op, surroundings)
        return module
