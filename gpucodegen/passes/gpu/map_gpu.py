"""Nests to kernels of the GPU, in every function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.attributes import UnitAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.framework.wishes import not_on_offer, wanted
from gpucodegen.passes.gpu.gpu_mapper import GpuMapper
from gpucodegen.passes.gpu.launches.gpu_launch import CONTAINER, gpu_module
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code
from gpucodegen.tiling.machine.gpu.devices import MULTIPROCESSORS
from gpucodegen.tiling.machine.gpu.product_tiles import (
    Candidate,
    SharedTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.thread_groups import ThreadGroup
from gpucodegen.tiling.machine.plan_space import Menus
from gpucodegen.tiling.tuning.knobs import Knob, menu_knob


@dataclass(frozen=True, slots=True)
class MapGpu(ModulePass):
    """Nests become ``gpu.func`` kernels, the function launches them.

    ``tile``: rows, columns and depth of a contraction's shared tiles and the rows and
    columns of each thread; empty leaves the choice to the model.  ``stages``: shared
    tiles of each factor in a contraction of such a ``tile`` where copies pass by the
    registers; 0 leaves that to the model.  ``fragments``: the last two numbers of a
    ``tile`` are rows and columns of each warp, on tensor cores.  ``contractions``
    become fused multiply-adds on shared tiles.  ``team``: blocks and threads of a block
    that walk sequential loops together; empty leaves the choice to the model.
    ``time_tiles``: without, these loops stay on the host.  ``relaxed``: sums may be
    reordered anywhere; ``exact``: nowhere.  ``precision``: of products of f32 on tensor
    cores, as the compiler's option says.  ``arch``: the architecture whose own features
    kernels use, as sm_90a; empty: what all have.  ``plan``: fields of plans and their
    values in turn, as in ``plan=[stream.width,4]``; kernels that have no such plan get
    the one that differs least.  ``strict``: it is an error if no kernel has one.
    """

    name: ClassVar[str] = "map-gpu"
    tile: tuple[int, ...] = ()
    stages: int = 0
    fragments: bool = False
    contractions: bool = True
    team: tuple[int, ...] = ()
    time_tiles: bool = True
    relaxed: bool = False
    exact: bool = False
    precision: str = "ieee"
    arch: str = ""
    plan: tuple[int | str, ...] = ()
    strict: bool = True

    def apply(self, module: Module) -> Module:
        """Map every function."""
        if self.arch not in ("", *MULTIPROCESSORS):
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"option 'arch' cannot be {self.arch!r}",
                hint=f"Known architectures: {', '.join(MULTIPROCESSORS)}",
            )
        menus = self._wanted(keeps=self.strict and bool(self.plan))
        made = self._mapped(module, menus)
        if self.strict and menus.unmet:
            raise not_on_offer(self.name, menus, "kernel of the program has a plan")
        return made

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The plans that each kernel may have."""
        menus = self._wanted(keeps=True)
        self._mapped(module, menus)
        return list(map(menu_knob, menus.kept))

    def _wanted(self, *, keeps: bool) -> Menus:
        return wanted(self.name, self.plan, keeps=keeps)

    def _mapped(self, module: Module, menus: Menus) -> Module:
        """The module of kernels, whose plans are of the menus.

        MLIR wants a mark on a module that launches kernels of a ``gpu.module``.
        """
        kind = WarpTiles if self.fragments else SharedTiles
        plan = _tiles(kind, *self.tile) if self.tile else None
        if plan and self.stages:
            plan = replace(plan, direct=(True, True), stages=self.stages)
        surroundings, kernels = Surroundings.of(module), list[Operation]()

        def map_function(op: Operation) -> list[Operation]:
            mapper = GpuMapper(
                symbol_name(op),
                definitions(op),
                plan,
                ThreadGroup(*self.team) if self.team else None,
                surroundings,
                {value: len(found) for value, found in users(op).items()},
                self.contractions,
                self.time_tiles,
                Order(self.relaxed, self.exact),
                self.precision,
                self.arch,
                menus,
            )
            host = without_dead_code(with_blocks(op, mapper.operations))
            kernels.extend(mapper.kernels)
            if not mapper.kernels:
                return [host]
            return [gpu_module(f"{mapper.module}_kernels", mapper.kernels), host]

        mapped = in_functions(module, map_function)
        if not kernels:
            return mapped
        return Module(mapped.operation.with_attribute(CONTAINER, UnitAttr()))


def _tiles(
    kind: type[SharedTiles | WarpTiles],
    rows: int,
    columns: int,
    depth: int,
    down: int,
    across: int,
    splits: int = 1,
    resident: int = 1,
    group: int = 1,
) -> Candidate:
    """The plan of a caller's numbers; how its tiles are copied is not among them."""
    return kind(rows, columns, depth, down, across, splits, resident, group)
