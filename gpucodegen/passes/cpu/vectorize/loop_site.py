"""What a form of vectorization is asked about: a loop, and what is known around it.

A *form* takes a `LoopSite` and gives the operations that replace the loop; none if the
loop has not this form, or does not pay in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.cpu.vectorize.loops import IterationRange, range_in
from gpucodegen.passes.cpu.vectorize.streaming_stores import EnclosingLoops
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.processor import Machine

POINTER = "memref.extract_aligned_pointer_as_index"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a function's buffers, as far as forms ask for them.

    ``outermost``: the buffers that are made outside of loops, which alone are known
    wherever a loop begins.
    """

    outermost: Collection[Value] = ()
    asked: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def of(self, memref: Value) -> Value | None:
        """The address of a buffer in bytes; None of those made inside of loops."""
        if memref in self.outermost and memref not in self.asked:
            self.asked[memref] = Value(INDEX, f"{memref.name}_at", memref.location)
        return self.asked.get(memref)

    def operations(self, made: Sequence[Value]) -> list[Operation]:
        """What asks for the addresses of the buffers among those just made."""
        return [
            Operation(POINTER, (v,), (self.asked[v],), location=v.location)
            for v in made
            if v in self.asked
        ]


@dataclass(frozen=True, slots=True)
class LoopSite:
    """A loop ``op``, or another operation with regions, where it stands.

    ``context`` runs before it, ``loops`` are those around it.
    """

    op: Operation
    context: Sequence[Operation]
    loops: EnclosingLoops
    machine: Machine
    order: Order
    surroundings: Surroundings
    addresses: Addresses

    @property
    def range(self) -> IterationRange | None:
        """The iterations of the loop; None of what is no loop in steps of one."""
        return range_in(self.op)

    @property
    def shares_threads(self) -> bool:
        """Whether threads share the iterations."""
        return self.op.name == "affine.parallel"

    def analysis(self, *, fine: bool = False) -> NestAnalysis:
        """The dependences inside of the loop."""
        return analyse([self.op], self.context, self.surroundings, fine=fine)

    def is_parallel(self) -> bool:
        """Whether the program says so, or no dependence says otherwise."""
        return self.shares_threads or self.analysis().is_parallel(self.op)

    def are_both_parallel(self) -> bool:
        """The same of two perfectly nested loops, whatever the program says."""
        analysis = self.analysis()
        return all(map(analysis.is_parallel, (self.op, *inner_operations(self.op))))


VectorForm = Callable[[LoopSite], list[Operation]]
"""The operations that replace a loop; none leave it to the next form."""
