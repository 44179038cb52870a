"""Shape inference: static extents of tensors and views from those of their operands.

Each rule gets an operation with final operands and the known integer constants, and
gives the shape of the result as far as it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.gcg import STATED_SIZE
from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed, Slice
from gpucodegen.dialects.memref.checks import check_slice, sliced_form, static
from gpucodegen.dialects.memref.layouts import (
    Extent,
    Strided,
    plus,
    product,
    strided_form,
    with_strides,
)
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr, DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import I64, MemRefType, Shape, TensorType, Type
from gpucodegen.passes.prepare.flatten_elements import with_entries
from gpucodegen.passes.prepare.tensors.placement import kept_dimensions, shape_of

Constants = Mapping[Value, int]


def tensor_type(op: Operation, constants: Constants) -> Type | None:
    """The type of the only result; None where nothing is known to follow.

    >>> from gpucodegen.ir.types import F32
    >>> source, result = Value(TensorType((2, 3), F32)), Value(TensorType((None,), F32))
    >>> from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
    >>> group = ArrayAttr((ArrayAttr((IntegerAttr(0, I64), IntegerAttr(1, I64))),))
    >>> op = Operation("tensor.collapse_shape", (source,), (result,),
    ...                {"reassociation": group})
    >>> print(tensor_type(op, {}))
    tensor<6xf32>
    """
    rule = _SHAPES.get(op.name)
    ty = op.results[0].type if len(op.results) == 1 else None
    if rule is None or not isinstance(ty, TensorType):
        return None
    shape = rule(op, constants)
    if shape is None:
        return None
    pairs = zip(ty.shape, shape, strict=True)
    known = (new if old is None else old for old, new in pairs)
    return replace(ty, shape=tuple(known))


def _number(constants: Constants, entry: Mixed) -> Extent:
    return entry if isinstance(entry, int) else constants.get(entry)


def _updated(op: Operation, _: Constants) -> Shape:
    return shape_of(op.operands[1].type)


def _slice(op: Operation, _: Constants) -> Shape:
    sizes = Slice(op).sizes
    kept = kept_dimensions(sizes, shape_of(op.result.type))
    return tuple(static(sizes)[d] for d in kept)


def _padded(op: Operation, constants: Constants) -> Shape:
    _, *values = operand_segments(op, 3)
    shape = list(shape_of(op.operands[0].type))
    for name, given in zip(("static_low", "static_high"), values, strict=True):
        dynamic = iter(given)
        for d, entry in enumerate(op.numbers(name)):
            border = next(dynamic) if entry == DYNAMIC_MARK else entry
            shape[d] = plus(shape[d], _number(constants, border))
    return tuple(shape)


def _collapsed(op: Operation, _: Constants) -> Shape:
    source = shape_of(op.operands[0].type)
    groups = groups_of(op.attributes.get("reassociation"))
    return tuple(product(source[d] for d in group) for group in groups)


def _expanded(op: Operation, constants: Constants) -> Shape:
    source, shape = shape_of(op.operands[0].type), list(shape_of(op.result.type))
    dynamic = iter(op.operands[1:])
    for d, extent in enumerate(shape):
        given = next(dynamic, None) if extent is None else None
        shape[d] = extent if given is None else constants.get(given)
    return _divided(op, source, shape)


def _divided(op: Operation, wholes: Shape, shape: list[Extent]) -> Shape:
    """The extents where the unknown one of a group is the product over the others."""
    groups = groups_of(op.attributes.get("reassociation"))
    for whole, group in zip(wholes, groups, strict=True):
        unknown = [d for d in group if shape[d] is None]
        rest = product(shape[d] for d in group if shape[d] is not None)
        if len(unknown) == 1 and whole is not None and rest:
            shape[unknown[0]] = whole // rest
    return tuple(shape)


def _joined(op: Operation, _: Constants) -> Shape:
    shapes, along = [shape_of(v.type) for v in op.operands], op.integer("dim")
    whole: list[Extent] = list(shapes[0])
    for shape in shapes[1:]:
        for d, extent in enumerate(shape):
            if d == along:
                whole[d] = plus(whole[d], extent)
            elif whole[d] is None:
                whole[d] = extent
    return tuple(whole)


def _sized(first: int) -> Callable[[Operation, Constants], Shape | None]:
    """Extents from size operands, from the first one on."""

    def rule(op: Operation, constants: Constants) -> Shape | None:
        dynamic = iter(op.operands[first:])
        shape = shape_of(op.result.type)
        return tuple(constants.get(next(dynamic)) if n is None else n for n in shape)

    return rule


_SHAPES: Mapping[str, Callable[[Operation, Constants], Shape | None]] = {
    "tensor.insert": _updated,
    "tensor.insert_slice": _updated,
    "tensor.scatter": _updated,
    "vector.transfer_write": _updated,
    "tensor.extract_slice": _slice,
    "tensor.pad": _padded,
    "tensor.collapse_shape": _collapsed,
    "tensor.expand_shape": _expanded,
    "tensor.concat": _joined,
    "tensor.splat": _sized(1),
    "tensor.generate": _sized(0),
}


SLICES = frozenset(
    {
        "memref.subview",
        "tensor.extract_slice",
        "tensor.insert_slice",
        "tensor.parallel_insert_slice",
    }
)


def with_known_part(op: Operation, constants: Constants) -> Operation:
    """A slice with numbers in place of the values that are constants.

    A subview stays where numbers would make it drop others of its dimensions, or where
    they are negative or outside of its source: it may never be executed.
    """
    if op.name not in SLICES:
        return op
    view = Slice(op)
    columns = [
        [entry if (n := _number(constants, entry)) is None else n for entry in entries]
        for entries in (view.offsets, view.sizes, view.strides)
    ]
    count = 2 if "insert" in op.name else 1
    known = with_entries(op, columns, count)
    if op.name != "memref.subview":
        return known
    shape = shape_of(op.result.type)
    kept = kept_dimensions(view.sizes, shape)
    is_same = kept_dimensions(Slice(known).sizes, shape) == kept
    return known if is_same and is_inside(known) else op


def is_inside(op: Operation) -> bool:
    """Whether it is no subview whose numbers are outside of its source."""
    if op.name != "memref.subview":
        return True
    view = Slice(op)
    try:
        check_slice(op, view, shape_of(view.source.type), op.result.type)
    except errors.VerifyError:
        return False
    return True


def put_in(op: Operation) -> Sequence[Type]:
    """The operand types of an insertion: the source has the sizes of the slice."""
    source, target, *others = (v.type for v in op.operands)
    assert isinstance(source, TensorType)
    sizes = Slice(op).sizes
    kept = kept_dimensions(sizes, source.shape)
    shape = tuple(static(sizes)[d] for d in kept)
    return [replace(source, shape=shape), target, *others]


_EXPANDING = frozenset({"memref.expand_shape", "tensor.expand_shape"})
"""Operations that state their sizes a second time."""


def with_kept_sizes(op: Operation, result: Value) -> Operation:
    """The operation with its new result, without the sizes that are now known."""
    first = {"tensor.splat": 1, "tensor.generate": 0} | dict.fromkeys(_EXPANDING, 1)
    start = first.get(op.name)
    old, new = shape_of(op.result.type), shape_of(result.type)
    rebuilt = op.with_(results=(result,))
    if start is None or old == new or len(op.operands) == start:
        return rebuilt
    open_ = [d for d, extent in enumerate(old) if extent is None]
    sizes = zip(open_, op.operands[start:], strict=True)
    kept = tuple(size for d, size in sizes if new[d] is None)
    rebuilt = rebuilt.with_(operands=(*op.operands[:start], *kept))
    if op.name not in _EXPANDING:
        return rebuilt
    written = tuple(DYNAMIC_MARK if n is None else n for n in new)
    rebuilt = rebuilt.with_attribute(
        "static_output_shape", DenseArrayAttr(I64, written)
    )
    return rebuilt.with_attribute(STATED_SIZE, UnitAttr())


def _subview_type(op: Operation, form: Strided) -> MemRefType | None:
    """The layout of a subview: ``offset + o . strides`` and ``strides * s``."""
    part, old = Slice(op), op.result.type
    if not isinstance(old, MemRefType):
        return None
    sliced, sizes = sliced_form(form, part), static(part.sizes)
    kept = kept_dimensions(part.sizes, old.shape)
    shape = tuple(sizes[d] for d in kept)
    if any(a not in (b, None) for a, b in zip(old.shape, shape, strict=True)):
        return None
    strides = tuple(sliced.strides[d] for d in kept)
    return with_strides(old, shape, Strided(sliced.offset, strides))


def _same(op: Operation, _: Strided) -> MemRefType | None:
    """Extents and layout of the buffer."""
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


def _collapsed_view(op: Operation, _: Strided) -> MemRefType | None:
    """Row-major extents multiplied by group."""
    source, old = op.operands[0].type, op.result.type
    if not isinstance(source, MemRefType) or not isinstance(old, MemRefType):
        return None
    groups = groups_of(op.attributes.get("reassociation"))
    shape = tuple(product(source.shape[d] for d in group) for group in groups)
    return replace(old, shape=shape) if _are_row_major(source, old) else None


def _expanded_view(op: Operation, _: Strided) -> MemRefType | None:
    """The unknown extent of a group is the product divided by the others."""
    source, old = op.operands[0].type, op.result.type
    if not isinstance(source, MemRefType) or not isinstance(old, MemRefType):
        return None
    shape = _divided(op, source.shape, list(old.shape))
    return replace(old, shape=shape) if _are_row_major(source, old) else None


def _are_row_major(*types: MemRefType) -> bool:
    return all(ty.layout is None for ty in types)


_TYPES: Mapping[str, Callable[[Operation, Strided], MemRefType | None]] = {
    "memref.assume_alignment": _same,
    "memref.memory_space_cast": _same,
    "memref.subview": _subview_type,
    "memref.transpose": _transposed,
    "memref.collapse_shape": _collapsed_view,
    "memref.expand_shape": _expanded_view,
}


def view_type(op: Operation) -> MemRefType | None:
    """The type of a view after its buffer became more static; None if unknown."""
    source = op.operands[0].type if op.operands else None
    form = strided_form(source) if isinstance(source, MemRefType) else None
    infer = _TYPES.get(op.name)
    return infer(op, form) if infer and form else None
