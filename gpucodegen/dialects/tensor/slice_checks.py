"""Rules of tensor operations that take out and put in parts of tensors."""

from __future__ import annotations

from itertools import pairwise

from gpucodegen import errors
from gpucodegen.dialects.framework.rules import agree, require, shown
from gpucodegen.dialects.memref import Slice
from gpucodegen.dialects.memref.layouts import Extent, plus
from gpucodegen.dialects.memref.view_checks import check_slice, reduces, static
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Shape, TensorType, Type


def check_extract_slice(o: Operation) -> None:
    """The result has the sizes of the slice."""
    _check_part(o, Slice(o), o.operands[0].type, o.results[0].type)


def check_insert_slice(o: Operation) -> None:
    """What is put in has the sizes of the slice."""
    _check_part(o, Slice(o), o.operands[1].type, o.operands[0].type)


def _check_part(o: Operation, part: Slice, whole: Type, small: Type) -> None:
    if not isinstance(whole, TensorType) or not isinstance(small, TensorType):
        return
    check_slice(o, part, whole.shape, whole)
    sizes = static(part.sizes)
    expected = TensorType(sizes, whole.element)
    require(
        reduces(sizes, small.shape) and small.element == whole.element,
        o,
        f"needs {expected}, perhaps without dimensions of size 1, not {small}",
        "Write that type",
    )


# -- gather and scatter ----------------------------------------------------------------


def check_gather(o: Operation) -> None:
    """The result has the slices of the source that the positions name."""
    source, positions = (v.type for v in o.operands)
    _check_slices(o, source, positions, o.results[0].type, "gather_dims")


def check_scatter(o: Operation) -> None:
    """The source has slices for the positions of the destination."""
    source, dest, positions = (v.type for v in o.operands)
    require(
        "unique" in o.attributes, o, "needs the word 'unique'", "Add it after the dims"
    )
    _check_slices(o, dest, positions, source, "scatter_dims")


def _check_slices(
    o: Operation, whole: Type, positions: Type, slices: Type, name: str
) -> None:
    if not isinstance(whole, TensorType) or not isinstance(positions, TensorType):
        return
    dims = _numbers(o.attributes.get(name))
    rank = len(whole.shape)
    is_increasing = all(a < b for a, b in pairwise(dims))
    require(
        dims and is_increasing and dims[0] >= 0 and dims[-1] < rank,
        o,
        f"{name} {dims} are not increasing dimensions of {whole}",
        f"Name dimensions from 0 to {rank - 1} in order",
    )
    outer, count = positions.shape[:-1], positions.shape[-1:]
    require(
        count == (len(dims),),
        o,
        f"{positions} does not hold {len(dims)} numbers per position",
        f"Make the last extent of the positions {len(dims)}",
    )
    unit = tuple(1 if d in dims else e for d, e in enumerate(whole.shape))
    rest = tuple(e for d, e in enumerate(whole.shape) if d not in dims)
    full, reduced = (TensorType(outer + s, whole.element) for s in (unit, rest))
    shape = slices.shape if isinstance(slices, TensorType) else None
    require(
        shape in (full.shape, reduced.shape)
        and getattr(slices, "element", None) == whole.element,
        o,
        f"needs {full} or {reduced}, not {slices}",
        "Write one of these types",
    )


def _numbers(value: Attribute | None) -> list[int]:
    return [int(v) for v in value.values] if isinstance(value, DenseArrayAttr) else []


# -- concat ----------------------------------------------------------------------------


def check_concat(o: Operation) -> None:
    """The inputs agree but for one dimension, where the result has their sum."""
    result = o.results[0].type
    if not o.operands:
        raise errors.WrongOperandCount(
            o.location, operation=o.name, expected="at least 1", actual=0
        )
    if not isinstance(result, TensorType):
        return
    position = o.integer("dim")
    if not 0 <= position < len(result.shape):
        raise errors.OutOfRange(
            o.location,
            operation=o.name,
            what="dimension",
            value=position,
            limit=len(result.shape),
        )
    expected = _joined(o, result, position)
    require(
        all(map(agree, expected, result.shape)),
        o,
        f"gives extents {' x '.join(map(shown, expected))}, not {result}",
        "Write these extents",
    )


def _joined(o: Operation, result: TensorType, position: int) -> Shape:
    total: Extent = 0
    extents: list[Extent] = [None] * len(result.shape)
    for value in o.operands:
        shape = _shape_like(o, value, result)
        total = plus(total, shape[position])
        for d, extent in enumerate(shape):
            require(
                d == position or agree(extents[d], extent),
                o,
                f"extents {shown(extents[d])} and {shown(extent)} in dimension {d}",
                f"Inputs may differ in dimension {position} only",
            )
            extents[d] = extent if extents[d] is None else extents[d]
    extents[position] = total
    return tuple(extents)


def _shape_like(o: Operation, value: Value, result: TensorType) -> Shape:
    ty = value.type
    shape = ty.shape if isinstance(ty, TensorType) else ()
    is_like = isinstance(ty, TensorType) and ty.element == result.element
    require(
        is_like and len(shape) == len(result.shape),
        o,
        f"cannot join {ty} to {result}",
        "Inputs and result have one rank and element type",
    )
    return shape
