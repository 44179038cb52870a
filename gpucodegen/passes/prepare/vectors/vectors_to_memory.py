"""Vectors that registers do not hold become buffers, and loops over their elements.

Comes in: functions on vectors of any shape.  Goes out: functions as they were, if
kernels can run them; in others no vector is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.registry import operations
from gpucodegen.dialects.func import Function
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.prepare.memory.flatten_elements import FlattenElements
from gpucodegen.passes.prepare.vectors import accesses, carried, movement, products
from gpucodegen.passes.prepare.vectors.boxes import Boxes, Handler
from gpucodegen.passes.prepare.vectors.needed import needs_buffers, refuse_scalable


@dataclass(frozen=True, slots=True)
class VectorsToMemory(ModulePass):
    """Write vectors out as buffers where that is needed.

    >>> import gpucodegen as gcg
    >>> text = '''func.func @f(%v: vector<4xf32>) -> vector<4xf32> {
    ...   return %v : vector<4xf32>
    ... }'''
    >>> made = VectorsToMemory().apply(gcg.parse(text)).functions["f"]
    >>> print(made.body.arguments[0].type)
    memref<4xf32>
    """

    name: ClassVar[str] = "vectors-to-memory"

    def apply(self, module: Module) -> Module:
        """Rewrite the functions that need it, and all that hand vectors to these."""
        functions = [op for op in module.operations if _is_defined(op)]
        if not any(map(needs_buffers, functions)) and not any(map(_hands, functions)):
            return module
        for function in functions:
            refuse_scalable(function)
        flat = FlattenElements().apply(module)
        return flat.with_operations(
            carried.function(Boxes(handlers=HANDLERS), op)
            if _is_defined(op) and (needs_buffers(op) or _hands(op))
            else op
            for op in flat.operations
        )


def _is_defined(op: Operation) -> bool:
    is_function = op.name == "func.func" and "gcg.kernel" not in op.attributes
    return is_function and not Function(op).is_external


def _hands(op: Operation) -> bool:
    """Whether a function takes or returns vectors."""
    ty = Function(op).type
    return any(isinstance(t, VectorType) for t in (*ty.inputs, *ty.results))


def _arithmetic() -> dict[str, Handler]:
    names = (name for dialect in movement.ARITHMETIC for name in operations(dialect))
    return dict.fromkeys(names, movement.elementwise)


HANDLERS: dict[str, Handler] = (
    _arithmetic()
    | movement.HANDLERS
    | accesses.HANDLERS
    | products.HANDLERS
    | carried.HANDLERS
)
