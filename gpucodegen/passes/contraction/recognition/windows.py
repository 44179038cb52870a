"""Operands that slide: one index moves with several axes, such as ``2*h + kh``.

The cells that the axes reach are a strided array of their own, one dimension per axis,
in which cells repeat: ``memref.reinterpret_cast`` names it without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.affine.expressions import linear_form
from gpucodegen.ir.attributes import DenseArrayAttr, StridedLayoutAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.segments import segment_counts
from gpucodegen.ir.types import I64, MemRefType
from gpucodegen.passes.contraction.recognition.operands import Operand, coefficients
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis


def slides(operand: Operand) -> bool:
    """Whether some index moves with several axes, or in steps."""
    steps = [coefficients(index) for index in operand.indices]
    return any(len(c) > 1 or not {1}.issuperset(c.values()) for c in steps)


def unrolled(b: Builder, operand: Operand, axes: Sequence[Axis]) -> Operand:
    """The operand as an array over its axes, the fastest last.

    offset + stride_1 x_1 + .. + stride_n x_n, the row-major address of the indices
    """
    ty = operand.memref.type
    assert isinstance(ty, MemRefType)
    address = ZERO
    for index, extent in zip(operand.indices, ty.shape, strict=True):
        address = address * (extent or 0) + index
    _, offset = linear_form(address.expr)
    steps = coefficients(address)
    order = sorted((a for a in axes if a.iv in steps), key=lambda a: -steps[a.iv])
    extents = tuple(axis.extent for axis in order)
    strides = tuple(steps[axis.iv] for axis in order)
    view = _strided(b, operand.memref, offset, extents, strides)
    places = tuple(Index.of(axis.iv) for axis in order)
    return Operand(view, places, location=operand.location)


def _strided(
    b: Builder,
    memref: Value,
    offset: int,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
) -> Value:
    """``memref.reinterpret_cast`` to constant extents and strides."""
    ty = memref.type
    assert isinstance(ty, MemRefType)
    layout = StridedLayoutAttr(strides, offset)
    (view,) = b.add(
        "memref.reinterpret_cast",
        (memref,),
        [MemRefType(extents, ty.element, layout, ty.memory_space)],
        {
            "static_offsets": DenseArrayAttr(I64, (offset,)),
            "static_sizes": DenseArrayAttr(I64, extents),
            "static_strides": DenseArrayAttr(I64, strides),
            "operandSegmentSizes": segment_counts(1, 0, 0, 0),
        },
        hint=memref.name,
    )
    return view
