"""``affine.dma_start`` and ``affine.dma_wait`` as their memref forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import from_map


@dataclass(frozen=True, slots=True)
class NormalizeTransfers(ModulePass):
    """The maps of affine transfers become ``affine.apply`` operations."""

    name: ClassVar[str] = "normalize-transfers"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        (root,) = rewrite_bottom_up(module.operation, _normalized)
        return Module(root)


def _normalized(op: Operation) -> list[Operation] | None:
    if op.name == "affine.dma_start":
        start = affine.DmaStart(op)
        source, target, tag = start.ends
        count, *stride = start.sizes
        b = Builder(op.location)
        operands = (
            *_end(b, source), *_end(b, target), count, *_end(b, tag), *stride
        )  # fmt: skip
        return [*b.operations, _renamed(op, "memref.dma_start", operands)]
    if op.name == "affine.dma_wait":
        wait = affine.DmaWait(op)
        b = Builder(op.location)
        operands = (*_end(b, wait.tag), wait.num_elements)
        return [*b.operations, _renamed(op, "memref.dma_wait", operands)]
    return None


def _end(b: Builder, end: affine.Endpoint) -> tuple[Value, ...]:
    """The buffer and the values of its indices."""
    indices = from_map(end.map, end.map_operands)
    return (end.memref, *(b.index(index) for index in indices))


def _renamed(op: Operation, name: str, operands: tuple[Value, ...]) -> Operation:
    return op.with_(name=name, operands=operands, attributes={})
