"""Buffers that are used, or freed again, after their ``dealloc``.

Looked at is what follows a ``dealloc`` in its own block, with all that is nested there:
whatever runs of it runs after the memory is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType
from gpucodegen.passes.analysis.lifting.buffers.aliases import owners
from gpucodegen.passes.framework.base import ModulePass

_MEMREFS = (MemRefType, UnrankedMemRefType)
_FREES = ("memref.dealloc", "gpu.dealloc")


@dataclass(frozen=True, slots=True)
class CheckLifetimes(ModulePass):
    """No buffer is used after it is freed."""

    name: ClassVar[str] = "check-lifetimes"

    def apply(self, module: Module) -> Module:
        """The module itself, or UseAfterFree."""
        shown = owners(module.operation.walk())
        for op in module.operation.walk():
            for region in op.regions:
                for block in region.blocks:
                    _check(block, shown)
        return module


def _check(block: Block, shown: dict[Value, Value]) -> None:
    freed: dict[Value, Operation] = {}
    for op in block.operations:
        for user, value in _uses(op) if freed else ():
            free = freed.get(shown.get(value, value))
            if free is not None:
                raise errors.UseAfterFree(
                    user.location,
                    notes=[(free.location, "it is freed here")],
                    operation=user.name,
                    buffer=shown.get(value, value).name or "a buffer",
                )
        if op.name in _FREES:
            (memory, *_) = (v for v in op.operands if isinstance(v.type, _MEMREFS))
            freed[shown.get(memory, memory)] = op


def _uses(root: Operation) -> Iterator[tuple[Operation, Value]]:
    for op in root.walk():
        for target in op.successors:
            yield from ((op, value) for value in target.operands)
        yield from ((op, value) for value in op.operands)
