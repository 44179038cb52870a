"""Types of views that follow from the type of their buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gpucodegen.dialects.memref import Slice
from gpucodegen.dialects.memref.checks import sliced_form, static
from gpucodegen.dialects.memref.layouts import (
    Strided,
    product,
    strided_form,
    with_strides,
)
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType


def _slice(op: Operation, form: Strided) -> MemRefType | None:
    """The layout of a subview: ``offset + o . strides`` and ``strides * s``."""
    part, old = Slice(op), op.result.type
    if not isinstance(old, MemRefType):
        return None
    sliced = sliced_form(form, part)
    extents, strides = list(old.shape), list[int | None]()
    for size, stride in zip(static(part.sizes), sliced.strides, strict=True):
        if extents and extents[0] == size:
            extents.pop(0)
            strides.append(stride)
    if extents:
        return None
    return with_strides(old, old.shape, Strided(sliced.offset, tuple(strides)))


def _same(op: Operation, form: Strided) -> MemRefType | None:
    """Extents and layout of the buffer."""
    del form
    source, old = op.operands[0].type, op.result.type
    if not isinstance(source, MemRefType) or not isinstance(old, MemRefType):
        return None
    return replace(old, shape=source.shape, layout=source.layout)


def _transposed(op: Operation, form: Strided) -> MemRefType | None:
    """Extents and strides in another order."""
    source, old = op.operands[0].type, op.result.type
    permutation = op.attributes["permutation"]
    assert isinstance(permutation, AffineMapAttr)
    if not isinstance(source, MemRefType) or not isinstance(old, MemRefType):
        return None
    order = [r.position for r in permutation.map.results if isinstance(r, Dim)]
    strides = tuple(form.strides[d] for d in order)
    shape = tuple(source.shape[d] for d in order)
    return with_strides(old, shape, Strided(form.offset, strides))


def _collapsed(op: Operation, form: Strided) -> MemRefType | None:
    """Row-major extents multiplied by group."""
    del form
    source, old = op.operands[0].type, op.result.type
    if not isinstance(source, MemRefType) or not isinstance(old, MemRefType):
        return None
    groups = groups_of(op.attributes.get("reassociation"))
    shape = tuple(product(source.shape[d] for d in group) for group in groups)
    return replace(old, shape=shape) if _are_row_major(source, old) else None


def _expanded(op: Operation, form: Strided) -> MemRefType | None:
    """The unknown extent of a group is what the others leave of the known product."""
    del form
    source, old = op.operands[0].type, op.result.type
    if not isinstance(source, MemRefType) or not isinstance(old, MemRefType):
        return None
    groups = groups_of(op.attributes.get("reassociation"))
    shape = list(old.shape)
    for whole, group in zip(source.shape, groups, strict=True):
        unknown = [d for d in group if shape[d] is None]
        rest = product(shape[d] for d in group if shape[d] is not None)
        if len(unknown) == 1 and whole is not None and rest:
            shape[unknown[0]] = whole // rest
    return replace(old, shape=tuple(shape)) if _are_row_major(source, old) else None


def _are_row_major(*types: MemRefType) -> bool:
    return all(ty.layout is None for ty in types)


_TYPES: Mapping[str, Callable[[Operation, Strided], MemRefType | None]] = {
    "memref.assume_alignment": _same,
    "memref.memory_space_cast": _same,
    "memref.subview": _slice,
    "memref.transpose": _transposed,
    "memref.collapse_shape": _collapsed,
    "memref.expand_shape": _expanded,
}


def view_type(op: Operation) -> MemRefType | None:
    """What a view becomes where its buffer became more static; None if not known."""
    source = op.operands[0].type if op.operands else None
    form = strided_form(source) if isinstance(source, MemRefType) else None
    infer = _TYPES.get(op.name)
    return infer(op, form) if infer and form else None
