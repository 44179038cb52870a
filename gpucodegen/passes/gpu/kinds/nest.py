"""A nest as the kinds of kernels see it.

`Mapper` is what they may ask of the pass that maps its function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.gpu.gpu_launch import KernelBody
from gpucodegen.tiling.machine.gpu.candidates import Candidate


class Mapper(Protocol):
    """Launches the kernels of a function, and maps what is inside of a nest."""

    surroundings: Surroundings
    plan: Candidate | None
    """The kernel that every contraction becomes, if the caller has chosen one."""
    contractions: bool
    time_tiles: bool
    contracted: list[Operation]
    """Nests that became contractions."""

    def launch(self, kernel: KernelBody) -> list[Operation]:
        """The operations of the host that launch a kernel."""
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

    def of(self, op: Operation) -> Nest:
        """Another nest in its place."""
        return self if op is self.op else replace(self, op=op)
