"""How many younger groups of transfers each wait of a kernel may leave under way.

The hardware ends a thread's copies in the order of their groups, and a wait only says
how many of the newest groups may stay open.  That number is the least number of groups
closed between a start's own and its wait, in

    { x -> w : tag(x) = tag(w), S(x) < S(w) }

(`gpucodegen.tiling.proof.async_copies`); 0 where it is not known.  The proof of
the kernel that follows asks for what the waits say then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import PENDING, WAITS
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Wait
from gpucodegen.tiling.proof.async_copies import MOST_OPEN, Transfers
from gpucodegen.tiling.proof.races import PROOF


@dataclass(frozen=True, slots=True)
class KeepInFlight(ModulePass):
    """Waits of kernels end what they name, and leave younger transfers alone."""

    name: ClassVar[str] = "keep-in-flight"

    def apply(self, module: Module) -> Module:
        """The module with the numbers at its waits."""
        surroundings = Surroundings.of(module)
        numbers: dict[int, int] = {}
        for op in module.walk():
            if op.name == "gpu.func" and any(o.name in WAITS for o in op.walk()):
                numbers |= _open_groups(op, surroundings)

        def numbered(op: Operation) -> list[Operation] | None:
            count = numbers.get(id(op))
            return [op.with_attribute(PENDING, IntegerAttr(count))] if count else None

        (root,) = rewrite_bottom_up(module.operation, numbered)
        return Module(root)


def _open_groups(kernel: Operation, surroundings: Surroundings) -> dict[int, int]:
    """The number of each wait, by its identity: the least of those that it makes."""
    built = model(lift_function(kernel, surroundings).scop, PROOF)
    transfers = Transfers(built)
    numbers: dict[int, int] = {}
    for instances in built.everything:
        if isinstance(instances.node, Wait):
            wait = id(instances.node.payload)
            least = numbers.get(wait, MOST_OPEN)
            if least:
                numbers[wait] = min(least, transfers.may_stay_open(instances))
    return numbers
