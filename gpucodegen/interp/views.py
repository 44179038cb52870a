"""Interprets memref views and casts, and bufferization between tensors and buffers.

Views share the memory of their source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.memref import DYNAMIC_MARK, Slice
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.interp.buffers import MemRef, contiguous, copied, fresh
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import copy, filled_in
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import Array, element, empty
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, TensorType, Type, element_type

Numbers = tuple[int, ...]


def mixed(m: Machine, op: Operation) -> tuple[Numbers, Numbers, Numbers]:
    """Offsets, sizes and strides of a slice or cast, static ones filled in."""
    view = Slice(op)

    def read(entries: Sequence[Value | int]) -> Numbers:
        return tuple(m.values[e] if isinstance(e, Value) else e for e in entries)

    return read(view.offsets), read(view.sizes), read(view.strides)


def dropped(sizes: Sequence[int], shape: Sequence[int | None]) -> set[int]:
    """The unit dimensions that a rank-reduced result drops, the earliest that fit.

    >>> dropped((1, 4, 1), (4, 1))
    {0}
    """
    gone: set[int] = set()
    wanted = list(shape)
    for d, size in enumerate(sizes):
        left = len(sizes) - d
        fits = bool(wanted) and wanted[0] in (None, size)
        if fits and not (size == 1 and left > len(wanted) and _later(sizes, d, wanted)):
            wanted.pop(0)
        else:
            gone.add(d)
    return gone


def _later(sizes: Sequence[int], d: int, wanted: Sequence[int | None]) -> bool:
    """Whether the remaining shape fits without dimension d."""
    rest = list(sizes[d + 1 :])
    return _fits(rest, list(wanted))


def _fits(sizes: list[int], wanted: list[int | None]) -> bool:
    if not wanted:
        return all(n == 1 for n in sizes)
    if not sizes:
        return False
    if wanted[0] in (None, sizes[0]) and _fits(sizes[1:], wanted[1:]):
        return True
    return sizes[0] == 1 and _fits(sizes[1:], wanted)


def without(values: Sequence[int], gone: set[int]) -> Numbers:
    """The values of the dimensions that are kept."""
    return tuple(v for d, v in enumerate(values) if d not in gone)


def _subview(m: Machine, op: Operation, source: MemRef, *_: int) -> MemRef:
    offsets, sizes, strides = mixed(m, op)
    at = sum(o * s for o, s in zip(offsets, source.strides, strict=True))
    steps = [a * b for a, b in zip(strides, source.strides, strict=True)]
    if min(sizes, default=0) < 0:
        raise errors.NegativeExtent(op.location, shape=tuple(sizes))
    gone = _gone(op.results[0].type, sizes, steps)
    return source.viewed(at, without(sizes, gone), without(steps, gone))


def _gone(ty: Type, sizes: Numbers, steps: Sequence[int]) -> set[int]:
    """Dropped dimensions by extents; if ambiguous, by the strides of the type."""
    assert isinstance(ty, MemRefType)
    form, count = strided_form(ty), len(sizes) - len(ty.shape)
    units = [d for d, n in enumerate(sizes) if n == 1]
    for chosen in map(set, combinations(units, count)):
        kept = without(sizes, chosen)
        fits = all(w in (None, n) for w, n in zip(ty.shape, kept, strict=True))
        known = form.strides if form is not None else (None,) * len(kept)
        if fits and all(
            w in (None, s) for w, s in zip(known, without(steps, chosen), strict=True)
        ):
            return chosen
    return dropped(sizes, ty.shape)


def _reinterpret(m: Machine, op: Operation, source: MemRef, *_: int) -> MemRef:
    """Offsets count from the base pointer."""
    (offset,), sizes, strides = mixed(m, op)
    return source.viewed(offset - source.offset, sizes, strides)


def _view(_: Machine, op: Operation, source: MemRef, shift: int, *sizes: int) -> MemRef:
    """Bytes of a one-dimensional buffer as elements of another type."""
    ty = op.results[0].type
    assert isinstance(ty, MemRefType)
    shape, of = filled_in(ty.shape, sizes), element(ty.element)
    if of.is_object:
        raise errors.UnsupportedType(type=ty, target="interp")
    needed = prod(shape) * prod(of.inner) * of.dtype.itemsize
    line = source.array().view(np.uint8)
    if shift < 0 or shift + needed > len(line):
        raise errors.IndexOutOfBounds(
            index=shift + needed - 1, buffer="the bytes", shape=source.shape
        )
    bytes_ = line[shift : shift + needed]
    memory = bytes_.view(of.dtype).reshape((prod(shape), *of.inner))
    return MemRef(memory, ty.element, shape, contiguous(shape))


def _transpose(_: Machine, op: Operation, source: MemRef) -> MemRef:
    attribute = op.attributes["permutation"]
    assert isinstance(attribute, AffineMapAttr)
    order = [e.position for e in attribute.map.results if isinstance(e, Dim)]
    shape = [source.shape[d] for d in order]
    return source.viewed(0, shape, [source.strided().strides[d] for d in order])


def groups_of(op: Operation) -> list[list[int]]:
    """Groups of dimensions of the larger rank."""
    entries = op.entries("reassociation")
    return [
        [e.value for e in entry.values if isinstance(e, IntegerAttr)]
        for entry in entries
        if isinstance(entry, ArrayAttr)
    ]


def collapsed(shape: Sequence[int], groups: Sequence[Sequence[int]]) -> Numbers:
    """Products of the extents of each group."""
    return tuple(prod(shape[d] for d in group) for group in groups)


def _collapse(_: Machine, op: Operation, source: MemRef) -> MemRef:
    """A group's stride is that of its last dimension whose extent is not 1."""
    groups = groups_of(op)
    strides: list[int] = []
    for group in groups:
        of_group = [(source.shape[d], source.strided().strides[d]) for d in group]
        several = [pair for pair in of_group if pair[0] != 1]
        joins = all(s == m * t for (_, s), (m, t) in pairwise(several))
        if not joins and all(source.shape):
            raise errors.ShapesDisagree(
                problem=f"'{op.name}' joins dimensions of strides {source.strides}"
            )
        steps = [source.strided().strides[d] for d in group if source.shape[d] != 1]
        last = source.strides[group[-1]]
        strides.append(steps[-1] if steps else last)
    return source.viewed(0, collapsed(source.shape, groups), strides)


def expanded(op: Operation, sizes: Sequence[int]) -> Numbers:
    dynamic = iter(sizes)
    static = op.numbers("static_output_shape")
    return tuple(next(dynamic) if n == DYNAMIC_MARK else n for n in static)


def _expand(_: Machine, op: Operation, source: MemRef, *sizes: int) -> MemRef:
    shape = expanded(op, sizes)
    strides = [0] * len(shape)
    for group, step in zip(groups_of(op), source.strided().strides, strict=True):
        for d in reversed(group):
            strides[d] = step
            step *= shape[d]  # noqa: PLW2901 - grows inside the group
    check_groups(op, source.shape, shape)
    return source.viewed(0, shape, strides)


def check_groups(op: Operation, small: Sequence[int], large: Sequence[int]) -> None:
    """Products of the groups equal the extents. Raises ShapesDisagree."""
    if groups_of(op) and collapsed(large, groups_of(op)) != tuple(small):
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' makes {tuple(large)} of {tuple(small)}"
        )


def _reshape(_: Machine, op: Operation, source: MemRef, shape: MemRef) -> MemRef:
    extents = tuple(int(shape.load((i,))) for i in range(shape.shape[0]))
    if prod(extents) != prod(source.shape):
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' makes {extents} of {source.shape}"
        )
    return source.viewed(0, extents, contiguous(extents))


def _cast(_: Machine, op: Operation, source: MemRef) -> MemRef:
    """The result type's extents and strides must hold. Raises ShapesDisagree."""
    ty = op.results[0].type
    if isinstance(ty, MemRefType):
        check_shape(op, source.shape, ty.shape)
        _check_strides(op, source, ty)
    return source


def _check_strides(op: Operation, source: MemRef, ty: MemRefType) -> None:
    """Strides equal those of a type. Raises ShapesDisagree."""
    form = strided_form(replace(ty, shape=source.shape))
    if source.box is not None or form is None or not all(source.shape):
        return
    rows = zip(source.shape, source.strides, form.strides, strict=True)
    if any(n > 1 and want not in (None, have) for n, have, want in rows):
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' casts strides {source.strides} to {form.strides}"
        )


def check_shape(
    op: Operation, shape: Sequence[int], wanted: Sequence[int | None]
) -> None:
    """Rank and extents equal those of a type. Raises ShapesDisagree."""
    fits = len(shape) == len(wanted)
    if not fits or any(w not in (None, n) for n, w in zip(shape, wanted, strict=True)):
        names = "x".join("?" if w is None else str(w) for w in wanted)
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' casts extents {tuple(shape)} to {names}"
        )


def _type_cast(_: Machine, op: Operation, source: MemRef) -> MemRef:
    target = op.results[0].type
    assert isinstance(target, MemRefType)
    ty, whole = target.element, source.array()
    if not whole.flags.c_contiguous:
        raise errors.UnsupportedType(type=ty, target="interp")
    shape = tuple(extent or 0 for extent in target.shape)
    return replace(
        source,
        memory=whole.reshape((prod(shape), *element(ty).inner)),
        type=ty,
        shape=shape,
        strides=tuple(prod(shape[d + 1 :]) for d in range(len(shape))),
        start=0,
    )


VIEW_OPERATIONS: dict[str, Evaluate] = {
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret,
    "memref.view": _view,
    "memref.transpose": _transpose,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.reshape": _reshape,
    "memref.cast": _cast,
    "vector.type_cast": _type_cast,
}


def to_tensor(_: Machine, __: Operation, buffer: MemRef) -> Array:
    """A copy of the buffer, with its record of written elements."""
    values, flags = np.array(buffer.elements()), buffer.flags()
    return values if flags is None else fresh(values, flags.copy())


def to_buffer(_: Machine, op: Operation, tensor: Array) -> MemRef:
    """A new buffer with the tensor's elements."""
    return MemRef.of(copied(tensor), element_type(op.results[0].type))


def _alloc_tensor(m: Machine, op: Operation, *_: Any) -> Array:
    groups, ty = m.groups(op), op.results[0].type
    assert isinstance(ty, TensorType)
    if groups["copy"]:
        return groups["copy"][0].copy()
    shape = filled_in(ty.shape, groups["dynamic_sizes"])
    made = empty(shape, ty.element)
    return fresh(made, rank=len(shape), arbitrary=m.shared.arbitrary)


def _materialize(
    m: Machine, op: Operation, source: Array, dest: Array | MemRef
) -> Array | None:
    """Write to a buffer, or return the new value of a tensor."""
    if isinstance(dest, MemRef):
        copy(m, op, MemRef.of(source, dest.type), dest)
        return None
    return source.copy()


def _clone(m: Machine, op: Operation, source: MemRef) -> MemRef:
    return MemRef.of(to_tensor(m, op, source), source.type)


def _dealloc(m: Machine, op: Operation, *_: Any) -> Any:
    """Whether each retained buffer is among those to deallocate."""
    groups = m.groups(op)
    pairs = list(zip(groups["memrefs"], groups["conditions"], strict=True))
    owned = tuple(
        int(any(c and np.shares_memory(b.memory, kept.memory) for b, c in pairs))
        for kept in groups["retained"]
    )
    return owned[0] if len(owned) == 1 else owned


def _nothing(*_: Any) -> None:
    """No effect: memory is garbage-collected."""


BUFFERIZATION_OPERATIONS: dict[str, Evaluate] = {
    "bufferization.to_tensor": to_tensor,
    "bufferization.to_buffer": to_buffer,
    "bufferization.alloc_tensor": _alloc_tensor,
    "bufferization.dealloc_tensor": _nothing,
    "bufferization.dealloc": _dealloc,
    "bufferization.clone": _clone,
    "bufferization.materialize_in_destination": _materialize,
}
