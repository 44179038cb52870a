"""Arguments whose contents are not needed: their copies to a device can be left out.

Comes in: affine nests. Goes out: the same functions with the positions of the arguments
that are wholly overwritten before anything reads them, as ``gcg.overwritten``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I32, MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.buffers.escapes import Escapes
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import is_overwritten, values

OVERWRITTEN = "gcg.overwritten"


@dataclass(frozen=True, slots=True)
class MarkOverwritten(ModulePass):
    """Mark the functions that overwrite arguments before they read them."""

    name: ClassVar[str] = "mark-overwritten"

    def apply(self, module: Module) -> Module:
        """Mark every function with a body."""
        surroundings = Surroundings.of(module)

        def marked(op: Operation) -> Operation:
            if op.name != "func.func" or not op.regions[0].blocks:
                return op
            found = tuple(_overwritten(op, surroundings))
            return op.with_attribute(
                OVERWRITTEN, DenseArrayAttr(I32, found) if found else None
            )

        return module.with_operations(map(marked, module.operations))


def _overwritten(function: Operation, surroundings: Surroundings) -> Iterator[int]:
    """Positions of the arguments; layouts may have elements that are no cells."""
    lifted = lift_function(function, surroundings)
    names = {value: name for name, value in lifted.arrays.items()}
    escaping = Escapes.of([function]).anywhere
    found = values(model(lifted.scop))
    for position, value in enumerate(Function(function).arguments):
        is_plain = isinstance(value.type, MemRefType) and value.type.layout is None
        is_known = is_plain and value in names and value not in escaping
        if is_known and is_overwritten(found, names[value]):
            yield position
