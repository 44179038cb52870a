"""Rules of vector.transfer_read and transfer_write."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.memref.checks import check_indices
from gpucodegen.dialects.vector.memory.transfer_syntax import mask_type
from gpucodegen.dialects.vector.types import extents
from gpucodegen.ir.affine.expressions import Const, Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import operand_segments
from gpucodegen.ir.types import (
    I1,
    MemRefType,
    TensorType,
    Type,
    VectorType,
    element_type,
)


def check_transfer_read(o: Operation) -> None:
    """One index per dimension; the padding is an element; a fitting map."""
    (source,), indices, (padding,), mask = operand_segments(o, 4)
    _check_transfer(o, source, len(indices), o.results[0].type, mask)
    if padding.type != element_type(source.type):
        raise errors.InvalidOperandType(
            o.location,
            operation=o.name,
            what="the padding",
            expected=element_type(source.type),
            actual=padding.type,
        )


def check_transfer_write(o: Operation) -> None:
    """One index per dimension; a fitting map that repeats nothing."""
    (value,), (source,), indices, mask = operand_segments(o, 4)
    map_ = _check_transfer(o, source, len(indices), value.type, mask)
    require(
        all(isinstance(e, Dim) for e in map_.results),
        o,
        f"{map_} writes the same elements repeatedly",
        "Map to dimensions only",
    )
    is_tensor = isinstance(source.type, TensorType)
    results = [v.type for v in o.results]
    require(
        results == ([source.type] if is_tensor else []),
        o,
        f"the results are no {source.type}",
        "Give the tensor that is written into, and nothing for a memref",
    )


def _check_transfer(
    o: Operation,
    source: Value,
    count: int,
    vector: Type,
    mask: tuple[Value, ...],
) -> AffineMap:
    ty = source.type
    if isinstance(ty, TensorType) and count != len(ty.shape):
        raise errors.WrongRank(o.location, type=ty, rank=len(ty.shape), actual=count)
    check_indices(o, source, count)
    map_ = _map(o)
    _check_map(o, map_, ty, vector)
    _check_bounds(o, map_)
    _check_bits(o, element_type(ty), vector)
    for value in mask:
        _check_mask(o, value.type, element_type(ty), mask_type(vector, map_))
    return map_


def _map(o: Operation) -> AffineMap:
    value = o.attributes["permutation_map"]
    return value.map if isinstance(value, AffineMapAttr) else AffineMap(0, 0, ())


def _check_map(o: Operation, map_: AffineMap, ty: Type, vector: Type) -> None:
    rank = len(ty.shape) if isinstance(ty, MemRefType | TensorType) else 0
    depth = len(extents(vector)) - len(extents(element_type(ty)))
    if map_.num_dims != rank or len(map_.results) != depth or map_.num_syms:
        raise errors.WrongMapArity(
            o.location,
            what=f"the permutation map of {ty} and {vector}",
            expected=f"{rank} to {depth}",
            actual=f"{map_.num_dims + map_.num_syms} to {len(map_.results)}",
        )
    dims = [e for e in map_.results if isinstance(e, Dim)]
    others = [e for e in map_.results if not isinstance(e, Dim)]
    require(
        all(e == Const(0) for e in others) and len(set(dims)) == len(dims),
        o,
        f"{map_} is no permutation",
        "Map to different dimensions, or to 0 where elements repeat",
    )


def _check_bounds(o: Operation, map_: AffineMap) -> None:
    bounds = o.attributes.get("in_bounds")
    if not isinstance(bounds, ArrayAttr):
        return
    is_bool = all(isinstance(e, IntegerAttr) and e.type == I1 for e in bounds.values)
    require(
        is_bool and len(bounds.values) == len(map_.results),
        o,
        f"in_bounds = {bounds} for {len(map_.results)} dimensions of the vector",
        "Write true or false for each dimension",
    )


def _check_bits(o: Operation, element: Type, vector: Type) -> None:
    minor, inner = _minor_bits(vector), _minor_bits(element)
    require(
        not minor or not inner or minor % inner == 0,
        o,
        f"a row of {vector} is no whole number of elements of type {element}",
        "Use a vector of the element type",
    )


def _minor_bits(ty: Type) -> int:
    """Bits of the last dimension; zero if unknown."""
    count, _ = (extents(ty) or ((1, False),))[-1]
    return count * bit_width(element_type(ty))


def _check_mask(o: Operation, mask: Type, element: Type, expected: Type | None) -> None:
    require(
        not isinstance(element, VectorType) and mask == expected,
        o,
        f"the mask {mask} does not fit",
        f"Use a mask of type {expected}; a memref of vectors takes none",
    )
