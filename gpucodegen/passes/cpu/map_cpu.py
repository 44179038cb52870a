"""Nests to register tiles and threads of the CPU, in every function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.contraction.cpu.choice import lower_contraction
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.cpu.parallel_loops import CpuMapping, Lower, map_operations
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, users, with_blocks
from gpucodegen.tiling.machine.processor import Machine, VectorUnit
from gpucodegen.tiling.machine.product_plan import plan_contraction
from gpucodegen.tiling.machine.product_problem import Candidate, Problem, TileSizes
from gpucodegen.tiling.tuning.knobs import NOTHING, Knob, register_knob


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
    first_cache: int = 1 << 15
    kept: int = 1 << 22

    @property
    def machine(self) -> Machine:
        """The processor that is mapped to."""
        unit = VectorUnit(self.vector_bits, self.registers, narrowest=self.narrowest)
        caches = self.cache, self.first_cache, self.kept
        return Machine(self.threads, unit, *caches)

    def apply(self, module: Module) -> Module:
        """Map every function; ``relaxed`` permits another order of sums anywhere.

        ``narrowest``: bits of integers that are multiplied several in a word.
        """

        def lower(found: Contraction, machine: Machine) -> list[Operation] | None:
            return lower_contraction(found, machine, self._plan)

        return self._mapped(module, lower)

    def knobs(self, module: Module) -> Sequence[Knob]:
        """Register tiles of the contractions that are mapped to them."""
        found: list[Knob] = []

        def lower(contraction: Contraction, machine: Machine) -> list[Operation] | None:
            def plan(problem: Problem, machine: Machine) -> Candidate:
                chosen = self._plan(problem, machine)
                found.append(register_knob(problem, machine, chosen.tiling))
                return chosen

            found.append(NOTHING)
            return lower_contraction(contraction, machine, plan)

        self._mapped(module, lower)
        return found

    def _plan(self, problem: Problem, machine: Machine) -> Candidate:
        sizes = TileSizes(self.rows, self.columns, self.row_block, self.k_block)
        return plan_contraction(problem, machine, sizes)

    def _mapped(self, module: Module, lower: Lower) -> Module:
        surroundings = Surroundings.of(module)
        mapping = CpuMapping(
            self.machine, lower, self.contractions, self.relaxed, surroundings
        )

        def mapped(op: Operation) -> list[Operation]:
            uses = {value: len(found) for value, found in users(op).items()}
            own = replace(mapping, uses=uses)
            return [with_blocks(op, lambda ops: map_operations(ops, own))]

        return in_functions(module, mapped)
