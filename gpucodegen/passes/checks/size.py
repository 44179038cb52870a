"""Refuses what would take too long to compile: operations, and elements of a vector.

Compiling takes about a millisecond per operation. LLVM then takes a time that grows
with the square of the number of registers that one vector fills.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, VectorType
from gpucodegen.passes.framework.base import ModulePass

VECTOR_BYTES = 1 << 16
"""Largest vector of a kernel: 1024 registers of 64 bytes."""


@dataclass(frozen=True, slots=True)
class CheckSize(ModulePass):
    """At most so many ``operations``, and ``vector_bytes`` in a value; 0: any number.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse("func.func @f() { return }")
    >>> CheckSize(operations=2).apply(module)
    Traceback (most recent call last):
    gpucodegen.errors.compile.TooManyOperations: <string>:1:1: error: 3 operations \
exceed the limit of 2. Put repeated statements into loops, split the function, or \
raise max_operations
    """

    name: ClassVar[str] = "check-size"
    operations: int = 0
    vector_bytes: int = 0

    def apply(self, module: Module) -> Module:
        """The module itself, TooManyOperations or VectorTooLong."""
        count = 0
        for op in module.operation.walk():
            count += 1
            if self.vector_bytes:
                self._check_vectors(op)
        if 0 < self.operations < count:
            place = next(iter(module.functions.values())).location
            raise errors.TooManyOperations(place, count=count, limit=self.operations)
        return module

    def _check_vectors(self, op: Operation) -> None:
        for value in op.results:
            if _bytes(value.type) > self.vector_bytes:
                raise errors.VectorTooLong(
                    op.location, type=value.type, limit=self.vector_bytes
                )


def _bytes(ty: Type) -> int:
    """Bytes of a vector; 0 for any other value."""
    if not isinstance(ty, VectorType):
        return 0
    return prod(ty.shape) * element_bits(ty.element) // 8
