"""A nest as the kinds of kernels see it.

`Mapper` is what they may ask of the pass that maps its function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody
from gpucodegen.tiling.machine.gpu.devices import GpuDevice
from gpucodegen.tiling.machine.gpu.thread_groups import ThreadGroup
from gpucodegen.tiling.machine.plan_space import Menus


class Mapper(Protocol):
    """Launches the kernels of a function, and maps what is inside of a nest."""

    surroundings: Surroundings
    definitions: Mapping[Value, Operation]
    """The operations that make the values of the function."""
    order: Order
    """What the program allows of its sums."""
    precision: str
    """Of products of f32 on tensor cores."""
    arch: str
    """The architecture whose own features kernels use, or ""."""
    team: ThreadGroup | None
    """Who walks programs of steps, if the caller has chosen that."""
    plans: Menus
    """What the caller asks of plans."""
    contractions: bool
    """Whether contractions become kernels of their own."""
    time_tiles: bool
    """Whether sequential loops may run in kernels, around barriers."""

    @property
    def device(self) -> GpuDevice:
        """What kernels are planned for."""
        ...

    def launch(self, kernel: KernelBody) -> list[Operation]:
        """The operations of the host that launch a kernel."""
        ...

    def nest(self, nest: Nest) -> list[Operation]:
        """The operations of the host in place of a nest."""
        ...

    def operations(
        self, operations: Sequence[Operation], context: Sequence[Operation] = ()
    ) -> list[Operation]:
        """Operations of the host in place of a straight list of operations."""
        ...


@dataclass(frozen=True)
class Nest:
    """A loop, or an operation around loops, that can run in kernels.

    ``context``: the operations before it.
    """

    op: Operation
    context: Sequence[Operation]
    mapper: Mapper

    @cached_property
    def analysis(self) -> NestAnalysis:
        """Its dependences."""
        return analyse([self.op], self.context, self.mapper.surroundings)

    @property
    def definitions(self) -> Mapping[Value, Operation]:
        """What makes the values of the function, and those that kinds made before."""
        made = {value: op for op in self.context for value in op.results}
        return {**made, **self.mapper.definitions}

    def of(self, op: Operation) -> Nest:
        """Another nest in its place."""
        return self if op is self.op else replace(self, op=op)
