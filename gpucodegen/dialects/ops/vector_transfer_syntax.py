"""vector.transfer_read and transfer_write: tiles between buffers and registers."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.syntax import Reader, State, Writer
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import (
    I1,
    INDEX,
    MemRefType,
    TensorType,
    Type,
    VectorType,
)


def parse_transfer_read(r: Reader, state: State) -> None:
    """``%m[%i, %j], %pad (, %mask)? {attrs} : memref, vector``."""
    source = r.use()
    indices = r.listed("[", "]", r.use)
    r.expect(",")
    padding = r.use()
    mask = [r.use()] if r.accept(",") else []
    state.attributes |= r.attr_dict()
    r.expect(":")
    shaped = r.type()
    r.expect(",")
    vector = r.type()
    groups = [
        [r.resolve(source, shaped)],
        [r.resolve(use, INDEX) for use in indices],
        [r.resolve(padding, _element(shaped))],
        [r.resolve(use, _mask_type(vector)) for use in mask],
    ]
    _finish_transfer(state, groups, shaped, vector)
    state.result_types = [vector]


def parse_transfer_write(r: Reader, state: State) -> None:
    """``%v, %m[%i, %j] (, %mask)? {attrs} : vector, memref``."""
    value = r.use()
    r.expect(",")
    source = r.use()
    indices = r.listed("[", "]", r.use)
    mask = [r.use()] if r.accept(",") else []
    state.attributes |= r.attr_dict()
    r.expect(":")
    vector = r.type()
    r.expect(",")
    shaped = r.type()
    groups = [
        [r.resolve(value, vector)],
        [r.resolve(source, shaped)],
        [r.resolve(use, INDEX) for use in indices],
        [r.resolve(use, _mask_type(vector)) for use in mask],
    ]
    _finish_transfer(state, groups, shaped, vector)
    if isinstance(shaped, TensorType):
        state.result_types = [shaped]


def _finish_transfer(
    state: State, groups: list[list[Value]], shaped: Type, vector: Type
) -> None:
    state.operands = [value for group in groups for value in group]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)
    state.attributes.setdefault("permutation_map", _minor_identity(shaped, vector))
    with_bounds(state)


def with_bounds(state: State) -> None:
    """Without ``in_bounds`` any element may lie outside."""
    map_ = state.attributes.get("permutation_map")
    if isinstance(map_, AffineMapAttr):
        unknown = ArrayAttr((IntegerAttr(0, I1),) * len(map_.map.results))
        state.attributes.setdefault("in_bounds", unknown)


def _minor_identity(shaped: Type, vector: Type) -> AffineMapAttr:
    """``(d0, .., dn) -> (dk, .., dn)``: the last dimensions of the buffer."""
    rank = len(shaped.shape) if isinstance(shaped, MemRefType | TensorType) else 0
    depth = len(vector.shape) if isinstance(vector, VectorType) else 0
    if isinstance(shaped, MemRefType | TensorType) and isinstance(
        shaped.element, VectorType
    ):
        depth -= len(shaped.element.shape)
    results = tuple(Dim(i) for i in range(max(0, rank - depth), rank))
    return AffineMapAttr(AffineMap(rank, 0, results))


def _element(ty: Type) -> Type:
    return ty.element if isinstance(ty, MemRefType | TensorType) else ty


def _mask_type(vector: Type) -> Type | None:
    if not isinstance(vector, VectorType):
        return None
    return VectorType(vector.shape, I1, vector.scalable)


def _transfer_attributes(w: Writer, o: Operation, shaped: Type, vector: Type) -> None:
    elided = [OPERAND_SEGMENTS]
    if o.attributes.get("permutation_map") == _minor_identity(shaped, vector):
        elided.append("permutation_map")
    bounds = o.attributes.get("in_bounds")
    if not isinstance(bounds, ArrayAttr) or str(bounds).count("true") == 0:
        elided.append("in_bounds")
    w.attr_dict(o, elided)


def print_transfer_read(w: Writer, o: Operation) -> None:
    """``%m[%i, %j], %pad {attrs} : memref, vector``."""
    (source,), indices, padding, mask = operand_segments(o, 4)
    vector = o.results[0].type
    w.write(f" {w.name(source)}[{w.names(indices)}], {w.names((*padding, *mask))}")
    _transfer_attributes(w, o, source.type, vector)
    w.write(f" : {source.type}, {vector}")


def print_transfer_write(w: Writer, o: Operation) -> None:
    """``%v, %m[%i, %j] {attrs} : vector, memref``."""
    (value,), (source,), indices, mask = operand_segments(o, 4)
    w.write(f" {w.name(value)}, {w.name(source)}[{w.names(indices)}]")
    if mask:
        w.write(f", {w.names(mask)}")
    _transfer_attributes(w, o, source.type, value.type)
    w.write(f" : {value.type}, {source.type}")


def check_transfer_read(o: Operation) -> None:
    """One index per dimension; the padding has the element type."""
    (source,), indices, _, _ = operand_segments(o, 4)
    _check_transfer(o, source, len(indices), o.results[0].type)


def check_transfer_write(o: Operation) -> None:
    """One index per dimension."""
    (value,), (source,), indices, _ = operand_segments(o, 4)
    _check_transfer(o, source, len(indices), value.type)


def _check_transfer(o: Operation, source: Value, count: int, vector: Type) -> None:
    ty = source.type
    if not isinstance(ty, MemRefType | TensorType):
        return
    rank = len(ty.shape)
    if rank != count:
        raise errors.WrongRank(o.location, type=ty, rank=rank, actual=count)
    map_ = o.attributes.get("permutation_map")
    if not isinstance(map_, AffineMapAttr) or not isinstance(vector, VectorType):
        return
    inner = len(ty.element.shape) if isinstance(ty.element, VectorType) else 0
    if map_.map.num_dims != rank or len(map_.map.results) != len(vector.shape) - inner:
        raise errors.WrongMapArity(
            o.location,
            what=f"the permutation map of {ty} and {vector}",
            expected=f"{rank} to {len(vector.shape) - inner}",
            actual=f"{map_.map.num_dims} to {len(map_.map.results)}",
        )
