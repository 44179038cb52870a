"""Operands that slide: one index moves with several axes, such as ``2*h + kh``.

The cells that the axes reach are a strided array of their own, one dimension per axis,
in which cells repeat: ``memref.reinterpret_cast`` names it without a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.affine import linear_form
from gpucodegen.ir.attributes import DenseArrayAttr, StridedLayoutAttr
from gpucodegen.ir.operation import Value, segment_counts
from gpucodegen.ir.types import I64, MemRefType
from gpucodegen.passes.contraction.recognition.operands import Operand, coefficients
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis


def slides(operand: Operand) -> bool:
    """Whether some index moves with several axes, or in steps."""
    steps = [coefficients(index) for index in operand.indices]
    return any(len(c) > 1 or not {1}.issuperset(c.values()) for c in steps)


def unrolled(
    b: Builder, operand: Operand, axes: Sequence[Axis], guests: Sequence[Axis] = ()
) -> Operand:
    """The operand as an array over its axes, the fastest last.

    offset + stride_1 x_1 + .. + stride_n x_n, the address of the indices

    A guest moves along the dimension of another axis, if the stride of one that is no
    neighbour in memory divides its own: for taps w at a distance a, that is x + a w.
    """
    offset, steps = _address(operand)
    moving = [axis for axis in axes if axis.iv in steps]
    order = sorted(moving, key=lambda axis: -steps[axis.iv])
    dimensions = [_along(found, steps) for found in _shared(order, guests, steps)]
    places, extents, strides = zip(*dimensions, strict=True)
    view = _strided(b, operand.memref, offset, extents, strides)
    return Operand(view, places, location=operand.location)


def _address(operand: Operand) -> tuple[int, dict[Value, int]]:
    """The element that an operand begins at, and how far each value moves it."""
    ty = operand.memref.type
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    assert form is not None, "it has strides"
    address = ZERO
    for index, stride in zip(operand.indices, form.strides, strict=True):
        address += index * (stride or 0)
    return linear_form(address.expr)[1], coefficients(address)


def _shared(
    axes: Sequence[Axis], guests: Sequence[Axis], steps: Mapping[Value, int]
) -> list[list[Axis]]:
    """The axes of each dimension; the first of them has its stride."""
    found = {axis: [axis] for axis in axes if axis not in guests}
    hosts = list(found)
    for axis in (axis for axis in axes if axis in guests):
        step = steps[axis.iv]
        strides = ((host, steps[host.iv]) for host in hosts)
        fits = (h for h, stride in strides if 1 < stride <= step and step % stride == 0)
        found.setdefault(next(fits, axis), []).append(axis)
    return sorted(found.values(), key=lambda own: -steps[own[0].iv])


def _along(axes: Sequence[Axis], steps: Mapping[Value, int]) -> tuple[Index, int, int]:
    """The index, the extent and the stride of a dimension."""
    stride = steps[axes[0].iv]
    index, last = ZERO, 0
    for axis in axes:
        step = steps[axis.iv] // stride
        index, last = index + Index.of(axis.iv) * step, last + (axis.extent - 1) * step
    return index, last + 1, stride


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
