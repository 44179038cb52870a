"""How far an access moves in memory when a variable takes a step."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, element_bytes, element_type
from gpucodegen.passes.contraction.recognition.operands import coefficients, is_linear
from gpucodegen.passes.framework.indexing import from_map
from gpucodegen.passes.gpu.facts.vector_width import Definitions, composed

FAR = 1 << 12
"""Bytes between rows of an array whose extents are not known."""


def byte_stride(access: Operation, along: Value, made: Definitions) -> int | None:
    """Bytes from one value of a variable to the next; None if they differ.

    ``made``: the operations that make the indices of an ``affine.load`` or ``store``.

    >>> import gpucodegen as gcg
    >>> (function,) = gcg.parse('''func.func @f(%A: memref<64x100xf32>) {
    ...   affine.for %i = 0 to 64 { affine.for %j = 0 to 96 {
    ...     %v = affine.load %A[%i, %j + 2] : memref<64x100xf32>
    ...   } }
    ...   return
    ... }''').operations
    >>> load = next(op for op in function.walk() if op.name == "affine.load")
    >>> [byte_stride(load, variable, {}) for variable in load.operands[1:]]
    [400, 4]
    """
    position = 1 if access.name == "affine.store" else 0
    ty = access.operands[position].type
    given = from_map(affine.map_of(access), access.operands[position + 1 :])
    indices = [composed(index, made) for index in given]
    involved = [index for index in indices if along in index.values]
    size = element_bytes(element_type(ty))
    if size is None or not isinstance(ty, MemRefType):
        return None
    if not all(map(is_linear, involved)):
        return None
    factors = [coefficients(index).get(along, 0) for index in indices]
    return size * sum(f * s for f, s in zip(factors, _strides(ty), strict=True))


def _strides(ty: MemRefType) -> Sequence[int]:
    """Elements from one index to the next, in each dimension; guesses where open."""
    form = strided_form(ty)
    strides = (None,) * len(ty.shape) if form is None else form.strides
    dense = [prod(n or FAR for n in ty.shape[at + 1 :]) for at in range(len(ty.shape))]
    return [d if s is None else s for d, s in zip(dense, strides, strict=True)]
