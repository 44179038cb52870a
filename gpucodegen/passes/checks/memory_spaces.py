"""Refuses buffers in memory spaces that have no meaning on the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import KNOWN, meaning
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class CheckMemorySpaces(ModulePass):
    """Every buffer lies where the target has memory."""

    name: ClassVar[str] = "check-memory-spaces"
    target: str = "cpu"

    def apply(self, module: Module) -> Module:
        """The module itself, or UnsupportedMemorySpace."""
        for op in module.operation.walk():
            for value in _defined(op):
                self._check(value, op)
        return module

    def _check(self, value: Value, op: Operation) -> None:
        space = getattr(value.type, "memory_space", None)
        if isinstance(value.type, MemRefType) and meaning(space) is None:
            raise errors.UnsupportedMemorySpace(
                op.location, space=space, target=self.target, known=", ".join(KNOWN)
            )


def _defined(op: Operation) -> Iterator[Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments
