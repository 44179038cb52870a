"""Large copies become loops, so that threads share them and stores pass the caches.

A copy of buffers without gaps is one loop over a line.  Small copies stay calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref.layouts import is_row_major
from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, MemRefType, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import goes_past_caches


@dataclass(frozen=True, slots=True)
class ExpandCopies(ModulePass):
    """Write copies of more than the ``kept`` bytes of all caches as loops.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
    ...   memref.copy %A, %B : memref<64xf32> to memref<64xf32>
    ...   return
    ... }''')
    >>> print(ExpandCopies(kept=256).apply(module))
    module {
      func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) {
        affine.for %i = 0 to 64 {
          %v = affine.load %A[%i] : memref<64xf32>
          affine.store %v, %B[%i] : memref<64xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "expand-copies"
    kept: int = 1 << 22

    def apply(self, module: Module) -> Module:
        """Rewrite every function."""
        return in_functions(module, lambda op: [with_blocks(op, self._operations)])

    def _operations(self, operations: Sequence[Operation]) -> list[Operation]:
        made: list[Operation] = []
        for op in operations:
            made += _loops(op) if self._pays(op) else [op]
        return made

    def _pays(self, op: Operation) -> bool:
        if op.name != "memref.copy":
            return False
        types = [value.type for value in op.operands]
        shapes = {ty.shape for ty in types if isinstance(ty, MemRefType)}
        if len(shapes) != 1:
            return False
        extents = [extent for shape in shapes for extent in shape if extent is not None]
        whole = all(None not in shape for shape in shapes) and bool(extents)
        bits = element_bits(element_type(types[0]))
        footprint = 2 * prod(extents) * bits // 8
        return whole and goes_past_caches(footprint, Machine(kept=self.kept))


def _loops(op: Operation) -> list[Operation]:
    b = Builder(op.location)
    buffers = op.operands
    if all(isinstance(v.type, MemRefType) and is_row_major(v.type) for v in buffers):
        buffers = tuple(_line(b, value) for value in buffers)
    source, target = buffers
    _copy(b, source, target, [])
    return b.operations


def _line(b: Builder, buffer: Value) -> Value:
    """A row-major buffer of several dimensions as a line."""
    ty = buffer.type
    assert isinstance(ty, MemRefType)
    if ty.rank == 1:
        return buffer
    count = prod(extent or 0 for extent in ty.shape)
    whole = ArrayAttr(tuple(IntegerAttr(d, I64) for d in range(ty.rank)))
    (line,) = b.add(
        "memref.collapse_shape",
        (buffer,),
        [replace(ty, shape=(count,))],
        {"reassociation": ArrayAttr((whole,))},
        hint=buffer.name,
    )
    return line


def _copy(b: Builder, source: Value, target: Value, indices: list[Value]) -> None:
    """The loops over the dimensions from the number of indices on."""
    ty = source.type
    assert isinstance(ty, MemRefType)
    if len(indices) == ty.rank:
        b.store(b.load(source, indices, "v"), target, indices)
        return

    def body(inner: Builder, iv: Value) -> None:
        _copy(inner, source, target, [*indices, iv])

    hint = "ijkl"[len(indices)] if len(indices) < 4 else "i"
    b.loop(0, ty.shape[len(indices)] or 0, body, hint=hint)
