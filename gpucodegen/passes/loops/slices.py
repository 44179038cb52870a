"""Accesses of slices of buffers as accesses of the buffers."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import Slice
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.framework.indexing import Index, as_map, from_map
from gpucodegen.passes.prepare.tensors.placement import kept_dimensions


def through_views(
    views: Mapping[Value, Operation], loop: Operation, indices: frozenset[Value]
) -> Operation | None:
    """The loop with accesses of views as accesses of their buffers; None: not affine.

    ``indices``: values that affine maps may take.
    """
    accesses = [o for o in loop.walk() if not views.keys().isdisjoint(o.operands)]
    offsets = {v for view in views.values() for v in view.operands[1:]}
    if not all(map(_has_known_strides, views.values())) or not offsets <= indices:
        return None
    if any(o.name not in affine.ACCESSES for o in accesses):
        return None

    def through(op: Operation) -> list[Operation] | None:
        at, made = (1 if op.name == "affine.store" else 0), op
        while made.name in affine.ACCESSES and made.operands[at] in views:
            made = _of_base(made, at, Slice(views[made.operands[at]]))
        return None if made is op else [made]

    (made,) = rewrite_bottom_up(loop, through)
    return made


def _has_known_strides(view: Operation) -> bool:
    """Whether a view is a slice with known strides."""
    if view.name != "memref.subview":
        return False
    return all(isinstance(stride, int) for stride in Slice(view).strides)


def _of_base(op: Operation, at: int, view: Slice) -> Operation:
    """An access of a slice as one of its buffer: offset + stride * index."""
    shape = getattr(op.operands[at].type, "shape", ())
    indices = [Index.of(offset) for offset in view.offsets]
    given = from_map(affine.map_of(op), op.operands[at + 1 :])
    for d, index in zip(kept_dimensions(view.sizes, shape), given, strict=True):
        stride = view.strides[d]
        assert isinstance(stride, int)
        indices[d] = indices[d] + index * stride
    map_, operands = as_map(indices)
    return op.with_(
        operands=(*op.operands[:at], view.source, *operands),
        attributes={**op.attributes, "map": AffineMapAttr(map_)},
    )
