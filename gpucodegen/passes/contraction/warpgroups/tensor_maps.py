"""Tensor maps: of which arrays there are some, and what they say of a box.

A box lies in shared memory row by row, in lines of `SPAN` bytes whose pieces of 16
bytes are permuted.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    INDEX,
    DialectType,
    MemRefType,
    Type,
    UnrankedMemRefType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.tiling.machine.gpu.devices import WIDEST
from gpucodegen.tiling.machine.gpu.product_tiles import SPAN

MOST_RANK = 5
"""Dimensions that a tensor map has at most."""


def is_mappable(ty: Type) -> bool:
    """Whether rows are multiples of 16 bytes apart, their elements side by side."""
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or not 1 < len(form.strides) <= MOST_RANK:
        return False
    size = element_bytes(element_type(ty)) or 1
    *others, last = form.strides
    return last == 1 and all(s and s > 0 and s * size % WIDEST == 0 for s in others)


def map_type(box: Sequence[int], element: Type) -> DialectType:
    """The type of a map of boxes."""
    shape = "x".join(map(str, box))
    return DialectType(
        "nvgpu.tensormap.descriptor<tensor ="
        f" memref<{shape}x{element}, 3>, swizzle = swizzle_{SPAN}b,"
        " l2promo = none, oob = zero, interleave = none>"
    )


def make_map(b: Builder, memref: Value, box: Sequence[int], ty: DialectType) -> Value:
    """``nvgpu.tma.create.descriptor``, on the host; ``box``: extents."""
    unranked = UnrankedMemRefType(element_type(memref.type))
    (array,) = b.add("memref.cast", (memref,), [unranked])
    extents = [b.constant(extent, INDEX) for extent in box]
    name = "nvgpu.tma.create.descriptor"
    (made,) = b.add(name, (array, *extents), [ty], hint="map")
    return made
