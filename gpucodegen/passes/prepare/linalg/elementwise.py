"""Arithmetic on whole tensors becomes ``linalg.generic`` on their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import INDEX, TensorType, Type, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder

_DIALECTS = ("arith", "math", "complex", "index")


@dataclass(frozen=True, slots=True)
class ElementwiseToLinalg(ModulePass):
    """Every scalar operation that is applied to tensors becomes a structured one."""

    name: ClassVar[str] = "elementwise-to-linalg"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        (root,) = rewrite_bottom_up(module.operation, _structured)
        return Module(root)


def _structured(op: Operation) -> Sequence[Operation] | None:
    tensors = [v for v in op.operands if isinstance(v.type, TensorType)]
    if not _is_elementwise(op) or not tensors:
        return None
    b = Builder(op.location)
    outputs = [_empty(b, tensors[0], result.type) for result in op.results]
    rank = len(outputs[0].type.shape) if isinstance(outputs[0].type, TensorType) else 0
    maps = [_map(v, rank) for v in (*op.operands, *outputs)]
    arguments = [_element(v) for v in (*op.operands, *outputs)]
    results = tuple(_element(v) for v in op.results)
    scalar = op.with_(operands=tuple(arguments[: len(op.operands)]), results=results)
    generic = linalg.generic(
        op.operands,
        outputs,
        maps,
        ["parallel"] * rank,
        arguments,
        [scalar, linalg.yield_(results, location=op.location)],
        location=op.location,
    )
    return [*b.operations, generic.with_(results=op.results)]


def _is_elementwise(op: Operation) -> bool:
    definition = lookup(op.name)
    if definition is None or op.dialect not in _DIALECTS or op.regions:
        return False
    is_constant = definition.has(Trait.CONSTANT)
    results = [v.type for v in op.results]
    return not is_constant and all(isinstance(ty, TensorType) for ty in results)


def _empty(b: Builder, like: Value, ty: Type) -> Value:
    """Memory for a result with the extents of an operand."""
    assert isinstance(ty, TensorType)
    sizes: list[Value] = []
    for dimension, extent in enumerate(ty.shape):
        if extent is None:
            position = b.constant(dimension, INDEX)
            sizes += b.add("tensor.dim", (like, position), [INDEX], hint="n")
    (memory,) = b.add("tensor.empty", sizes, [ty])
    return memory


def _map(value: Value, rank: int) -> AffineMap:
    """The element itself of a tensor; a scalar is the same everywhere."""
    is_tensor = isinstance(value.type, TensorType)
    return AffineMap.identity(rank) if is_tensor else AffineMap(rank, 0, ())


def _element(value: Value) -> Value:
    return value.renewed(element_type(value.type))
