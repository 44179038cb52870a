"""vector.transfer_read and transfer_write: tiles between buffers and registers."""

from __future__ import annotations

from gpucodegen.dialects.framework.syntax import Reader, State, Writer, read_type
from gpucodegen.dialects.vector.types import extents, vector_of
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments
from gpucodegen.ir.types import I1, INDEX, MemRefType, TensorType, Type, VectorType


def parse_transfer_read(r: Reader, state: State) -> None:
    """``%m[%i, %j], %pad (, %mask)? {attrs} : memref, vector``."""
    source = r.use()
    indices = r.listed("[", "]", r.use)
    r.expect(",")
    padding = r.use()
    mask = [r.use()] if r.accept(",") else []
    shaped = read_type(r, state)
    r.expect(",")
    vector = r.type()
    groups = [
        [r.resolve(source, shaped)],
        [r.resolve(use, INDEX) for use in indices],
        [r.resolve(padding, _element(shaped))],
        [r.resolve(use, _mask_type(state, shaped, vector)) for use in mask],
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
    vector = read_type(r, state)
    r.expect(",")
    shaped = r.type()
    groups = [
        [r.resolve(value, vector)],
        [r.resolve(source, shaped)],
        [r.resolve(use, INDEX) for use in indices],
        [r.resolve(use, _mask_type(state, shaped, vector)) for use in mask],
    ]
    _finish_transfer(state, groups, shaped, vector)
    if isinstance(shaped, TensorType):
        state.result_types = [shaped]


def _finish_transfer(
    state: State, groups: list[list[Value]], shaped: Type, vector: Type
) -> None:
    state.give(groups)
    state.attributes.setdefault("permutation_map", minor_identity(shaped, vector))
    with_bounds(state)


def with_bounds(state: State) -> None:
    """Without ``in_bounds`` any element may lie outside; once ``masked`` said so."""
    masked = state.attributes.pop("masked", None)
    if isinstance(masked, ArrayAttr):
        inverted = (IntegerAttr(int("true" not in str(e)), I1) for e in masked.values)
        state.attributes["in_bounds"] = ArrayAttr(tuple(inverted))
    map_ = state.attributes.get("permutation_map")
    if isinstance(map_, AffineMapAttr):
        unknown = ArrayAttr((IntegerAttr(0, I1),) * len(map_.map.results))
        state.attributes.setdefault("in_bounds", unknown)


def minor_identity(shaped: Type, vector: Type) -> AffineMapAttr:
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


def _mask_type(state: State, shaped: Type, vector: Type) -> Type | None:
    """The mask's type for the permutation map of the operation being read."""
    written = state.attributes.get("permutation_map")
    map_ = written if isinstance(written, AffineMapAttr) else None
    return mask_type(vector, (map_ or minor_identity(shaped, vector)).map)


def mask_type(vector: Type, map_: AffineMap) -> Type | None:
    """A vector of i1 in the order of the buffer, without dimensions that repeat."""
    places = [e.position for e in map_.results if isinstance(e, Dim)]
    dims = extents(vector)[: len(map_.results)]
    kept = [
        dim for e, dim in zip(map_.results, dims, strict=False) if isinstance(e, Dim)
    ]
    order = sorted(range(len(kept)), key=places.__getitem__)
    if not isinstance(vector, VectorType):
        return None
    return vector_of([kept[i] for i in order] or [(1, False)], I1)


def _transfer_attributes(w: Writer, o: Operation, shaped: Type, vector: Type) -> None:
    elided = [OPERAND_SEGMENTS]
    if o.attributes.get("permutation_map") == minor_identity(shaped, vector):
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
