"""Time tiling: wavefronts of tiles over a time loop and the space loops inside it.

A nest whose outermost loop is sequential is skewed until its loops permute
(`gpucodegen.tiling.schedule.skewing`), tiled, and its tiles run in parallel along
wavefronts.  Tile sizes are given, or chosen by the model of the machine where tiling
pays.  The result is used only if its loops are proven free of races; where the number
of time steps is unknown, a condition keeps the original loops for few steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import runs_in_parallel
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, bounds_of
from gpucodegen.passes.framework.nests import loop_depth
from gpucodegen.passes.framework.plan_options import not_on_offer, restricted_plans
from gpucodegen.passes.loops.requested_schedules import TimeLoops
from gpucodegen.passes.loops.restructure import (
    Movable,
    reorder_nests,
    reordered,
    rewrite_nests,
)
from gpucodegen.passes.nests import loop_names
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.plan_space import Choice, Choose, Menus
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.temporal_tiling import TimePlan, plan_time_tiles
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts
from gpucodegen.tiling.schedule.schedule import Schedule
from gpucodegen.tiling.schedule.skewing import find_band, wavefront
from gpucodegen.tiling.tuning.knobs import Knob, loop_knob


@dataclass(frozen=True, slots=True)
class Wavefront(ModulePass):
    """Tile nests whose outermost loop is not parallel; tiles of a wavefront are.

    ``sizes``: iterations of the time loop per tile, then those of the loops inside it.
    ``chains``: tiles of the time loop that run at once; 0 begins all of them.
    Without sizes they are chosen for ``threads`` threads with ``cache`` bytes each and
    ``shared`` bytes for all of them, and only where that pays; a nest of unknown
    duration keeps its loops beside the tiles, for few time steps.
    ``plan``: requested tiles (`requested_schedules`), as names and numbers in turn:
    ``plan=[time0.steps,8]``.  ``strict``: it is an error if the loops cannot have
    them; otherwise they get the tiles that differ least.
    """

    name: ClassVar[str] = "wavefront"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    sizes: tuple[int, ...] = ()
    chains: int = 0
    threads: int = 2
    cache: int = 1 << 20
    shared: int = 0
    plan: tuple[int | str, ...] = ()
    strict: bool = True

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        """A plan that no loop can have is an error, even without loops."""
        return bool(self.plan) or ModulePass.concerns(self, module, found)

    def apply(self, module: Module) -> Module:
        """Tile; raises IllegalTransformation for an illegal request.

        Raises InvalidPassOption for a plan that no time loop can have.
        """
        if self.sizes:
            return reorder_nests(module, "time tiling", self._given)
        menus = restricted_plans(
            self.name, self.plan, keeps=self.strict and bool(self.plan)
        )
        made = self._tiled(module, TimeLoops(menus))
        if self.strict and menus.unmet:
            raise not_on_offer(self.name, menus, "time loop of the program has tiles")
        return made

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The possible tiles of each time loop, or none."""
        menus = Menus(keeps=True)
        if not self.sizes:
            self._tiled(module, TimeLoops(menus))
        return list(map(loop_knob, menus.kept))

    def choices(self, module: Module) -> Sequence[Choice]:
        menus = restricted_plans(self.name, self.plan, keeps=True)
        if not self.sizes:
            self._tiled(module, TimeLoops(menus))
        return list(menus.choices.values())

    def _given(self, source: Movable) -> Schedule | Refusal | None:
        if _is_parallel(source):
            return None
        band = find_band(source.nest)
        if isinstance(band, Refusal):
            return band
        return wavefront(source.nest, band, self.sizes, self.chains)

    def _tiled(self, module: Module, loops: TimeLoops) -> Module:
        return rewrite_nests(module, partial(self._chosen, loops))

    def _chosen(
        self,
        loops: TimeLoops,
        op: Operation,
        context: Sequence[Operation],
        surroundings: Surroundings,
    ) -> list[Operation]:
        """The tiled nest where it pays and is proven, else the nest itself."""
        plans: list[TimePlan] = []
        loop = loops.next()

        def plan(source: Movable) -> Schedule | Refusal | None:
            found = None if _is_parallel(source) else self._plan(source, loop.choice)
            if found is None or isinstance(found, Refusal):
                return found
            schedule, chosen = found
            plans.append(chosen)
            return schedule

        if loop_depth(op) > DEEPEST:
            return [op]
        made = reordered(op, context, surroundings, plan)
        refusal = made if isinstance(made, Refusal) else None
        if plans and not isinstance(made, Refusal):
            if runs_in_parallel(made, context, surroundings):
                return _if_long_enough(op, made, plans[0].least_steps)
            refusal = Refusal("nothing proves its tiles free of races")
        if self.strict and loop.is_asked:
            loop_names.demand(refusal, op, "time tiling of the loops")
        return [op]

    def _plan(
        self, source: Movable, choose: Choose
    ) -> tuple[Schedule, TimePlan] | Refusal | None:
        band = find_band(source.nest)
        if isinstance(band, Refusal):
            return band
        machine = Machine(self.threads, second=self.cache, shared=self.shared)
        sizes = _element_bytes(source)
        plan = plan_time_tiles(source.nest, band, sizes, machine, choose)
        if plan is None:
            return None
        schedule = wavefront(source.nest, band, plan.sizes, plan.chains)
        return schedule if isinstance(schedule, Refusal) else (schedule, plan)


DEEPEST = 5
"""Deepest nest that is considered by default: time and four dimensions."""


def _is_parallel(source: Movable) -> bool:
    outermost = loop_verdicts(source.nest.model, source.nest.dependences)[0]
    return outermost.kind is LoopKind.PARALLEL


def _element_bytes(source: Movable) -> dict[str, int]:
    return {
        name: max(element_bits(value.type.element) // 8, 1)
        for name, value in source.lifted.arrays.items()
        if isinstance(value.type, MemRefType)
    }


def _if_long_enough(
    op: Operation, tiled: Sequence[Operation], least_steps: int
) -> list[Operation]:
    """The tiles where the time loop has that many steps, else the original loops.

    upper - lower - least * step >= 0 for every pair of its bounds.
    """
    loop = affine.For(op)
    least = least_steps * loop.step
    lowers, uppers = bounds_of(loop)
    spare = [upper - lower - least for upper in uppers for lower in lowers]
    if any(_is_negative(steps) for steps in spare):
        return [op]
    b = Builder(op.location)
    b.guard(
        spare if least_steps else (),
        lambda made: made.operations.extend(tiled),
        lambda made: made.operations.append(op),
    )
    return b.operations


def _is_negative(index: Index) -> bool:
    return index.constant is not None and index.constant < 0
