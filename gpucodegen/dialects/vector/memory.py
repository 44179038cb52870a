"""Table, syntax and rules of vector accesses: loads, stores, masks and transfers.

``vector.transfer_read`` and ``transfer_write`` move tiles between buffers and
registers; other accesses are masked, gathered or compressed.
"""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint, require
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Check, Op
from gpucodegen.dialects.framework.syntax import Reader, State, Writer, read_type
from gpucodegen.dialects.memref.checks import check_indices
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.dialects.vector import extents, vector_of
from gpucodegen.dialects.vector.shapes import MASK, row_bits
from gpucodegen.ir.affine import AffineMap, Const, Dim
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, operand_segments
from gpucodegen.ir.types import (
    I1,
    INDEX,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    VectorType,
    element_type,
)


def _check_alignment(o: Operation) -> None:
    alignment = o.integer("alignment", 1)
    require(
        alignment > 0 and alignment & (alignment - 1) == 0,
        o,
        f"alignment {alignment} is no power of two",
        "Write a positive power of two",
    )


def _check_elements(o: Operation, base: Type, vector: Type) -> None:
    """The memory holds the vector's elements, or vectors of its type."""
    inner = element_type(base)
    is_same = inner in (vector, element_type(vector))
    require(
        is_same,
        o,
        f"{base} does not hold elements of {vector}",
        f"Use a vector of {element_type(inner)}",
    )


# -- consecutive elements --------------------------------------------------------------


def check_load(o: Operation) -> None:
    """Element type, rank and unit stride of a load."""
    _check_contiguous(o, o.operands[0], o.results[0].type, o.operands[1:])


def check_store(o: Operation) -> None:
    """Element type, rank and unit stride of a store."""
    value, base, *indices = o.operands
    _check_contiguous(o, base, value.type, tuple(indices))


def _check_contiguous(
    o: Operation, base: Value, vector: Type, indices: tuple[Value, ...]
) -> None:
    check_indices(o, base, len(indices))
    ty = base.type
    if not isinstance(ty, MemRefType):
        return
    _check_alignment(o)
    _check_elements(o, ty, vector)
    is_whole = ty.element == vector
    require(
        len(extents(vector)) <= ty.rank or is_whole,
        o,
        f"{vector} has more dimensions than {ty}",
        "Use a vector of at most the rank of the memref",
    )
    is_single = all(extent == (1, False) for extent in extents(vector))
    require(
        is_single or is_whole or has_unit_stride(ty),
        o,
        f"the elements of the last dimension of {ty} are not adjacent",
        "Use a memref whose last stride is 1, or vector.gather and vector.scatter",
    )


def has_unit_stride(ty: MemRefType) -> bool:
    """Whether the last dimension has unit stride."""
    form = strided_form(ty)
    return form is not None and form.strides[-1:] in ((), (1,))


# -- masked and scattered --------------------------------------------------------------


def check_masked(*, gathers: bool = False, stores: bool = False) -> Check:
    """A check that masks, indices and values have the extents of the vector."""

    def check(o: Operation) -> None:
        base, *rest = o.operands
        *indices, mask, value = rest
        positions = [indices.pop()] if gathers else []
        vector = value.type if stores else o.results[0].type
        _check_elements(o, base.type, vector)
        for what, other in (("mask", [mask]), ("positions", positions)):
            for v in other:
                _check_extents(o, what, v.type, vector)
        require(
            stores or value.type == vector,
            o,
            f"{value.type} does not replace elements of {vector}",
            f"Use a value of type {vector}",
        )
        check_indices(o, base, len(indices))
        _check_alignment(o)
        require(
            not stores or not o.results or o.results[0].type == base.type,
            o,
            f"the result is no {base.type}",
            f"Write {base.type}",
        )

    return check


def _check_extents(o: Operation, what: str, ty: Type, vector: Type) -> None:
    require(
        isinstance(ty, VectorType) and extents(ty) == extents(vector),
        o,
        f"the {what} {ty} and {vector} differ in extent",
        "Use vectors of one shape",
    )


_POSITIONS = TypeConstraint(
    "a vector of integers or indices",
    lambda ty: (
        isinstance(ty, VectorType) and isinstance(ty.element, IntegerType | IndexType)
    ),
)

_ALIGNMENT = {"alignment": kinds.integer(optional=True)}
_MASKED = {"base": constraints.SHAPED, "mask": MASK}
_ALIGNED = "(`alignment` `=` $alignment^)?"
_HINTS = f"{_ALIGNED} (`nontemporal` `=` $nontemporal^)?"
_NONTEMPORAL = _ALIGNMENT | {"nontemporal": kinds.FALSE_BY_DEFAULT}


def _masked_load(name: str) -> Op:
    return op(
        f"vector.{name}",
        "base indices:index* mask pass_thru -> result",
        f"$base `[` $indices `]` `,` $mask `,` $pass_thru {_ALIGNED} attr-dict"
        " `:` type($base) `,` type($mask) `,` type($pass_thru) `into` type($result)",
        attributes=_ALIGNMENT,
        types=_MASKED | {"pass_thru": constraints.VECTOR},
        checks=[check_masked()],
    )


def _masked_store(name: str) -> Op:
    return op(
        f"vector.{name}",
        "base indices:index* mask valueToStore",
        f"$base `[` $indices `]` `,` $mask `,` $valueToStore {_ALIGNED} attr-dict"
        " `:` type($base) `,` type($mask) `,` type($valueToStore)",
        attributes=_ALIGNMENT,
        types=_MASKED | {"valueToStore": constraints.VECTOR},
        checks=[check_masked(stores=True)],
    )


OPERATIONS = (
    op(
        "vector.load",
        "base:memref indices:index* -> result:vector",
        f"$base `[` $indices `]` {_HINTS} attr-dict `:` type($base) `,` type($result)",
        attributes=_NONTEMPORAL,
        checks=[check_load],
    ),
    op(
        "vector.store",
        "valueToStore:vector base:memref indices:index*",
        f"$valueToStore `,` $base `[` $indices `]` {_HINTS} attr-dict"
        " `:` type($base) `,` type($valueToStore)",
        attributes=_NONTEMPORAL,
        checks=[check_store],
    ),
    _masked_load("maskedload"),
    _masked_load("expandload"),
    _masked_store("maskedstore"),
    _masked_store("compressstore"),
    op(
        "vector.gather",
        "base offsets:index* indices mask pass_thru -> result",
        f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru {_ALIGNED}"
        " attr-dict `:` type($base) `,` type($indices) `,` type($mask)"
        " `,` type($pass_thru) `into` type($result)",
        attributes=_ALIGNMENT,
        types=_MASKED | {"indices": _POSITIONS, "pass_thru": constraints.VECTOR},
        checks=[check_masked(gathers=True)],
    ),
    op(
        "vector.scatter",
        "base offsets:index* indices mask valueToStore -> result?",
        f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $valueToStore"
        f" {_ALIGNED} attr-dict `:` type($base) `,` type($indices) `,` type($mask)"
        " `,` type($valueToStore) (`->` type($result)^)?",
        attributes=_ALIGNMENT,
        types=_MASKED | {"indices": _POSITIONS, "valueToStore": constraints.VECTOR},
        checks=[check_masked(gathers=True, stores=True)],
    ),
)


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
    """Set ``in_bounds``: false everywhere if absent, or from ``masked`` of old text."""
    masked = state.attributes.pop("masked", None)
    if isinstance(masked, ArrayAttr):
        inverted = (IntegerAttr(int("true" not in str(e)), I1) for e in masked.values)
        state.attributes["in_bounds"] = ArrayAttr(tuple(inverted))
    map_ = state.attributes.get("permutation_map")
    if isinstance(map_, AffineMapAttr):
        unknown = ArrayAttr((IntegerAttr(0, I1),) * len(map_.map.results))
        state.attributes.setdefault("in_bounds", unknown)


def minor_identity(shaped: Type, vector: Type) -> AffineMapAttr:
    """``(d0, .., dn) -> (dk, .., dn)``: the trailing dimensions of the buffer."""
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
    """The mask type for the permutation map of the operation being read."""
    written = state.attributes.get("permutation_map")
    map_ = written if isinstance(written, AffineMapAttr) else None
    return mask_type(vector, (map_ or minor_identity(shaped, vector)).map)


def mask_type(vector: Type, map_: AffineMap) -> Type | None:
    """The mask type: i1 in the buffer's order, without broadcast dimensions."""
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


def check_transfer_read(o: Operation) -> None:
    """One index per dimension; the padding is an element; a fitting map."""
    (source,), indices, (padding,), mask = operand_segments(o, 4)
    _check_transfer(o, source, len(indices), o.results[0].type, mask)
    if padding.type != element_type(source.type):
        raise errors.InvalidOperandType.at(
            o,
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
    minor, inner = row_bits(vector), row_bits(element)
    require(
        not minor or not inner or minor % inner == 0,
        o,
        f"a row of {vector} is no whole number of elements of type {element}",
        "Use a vector of the element type",
    )


def _check_mask(o: Operation, mask: Type, element: Type, expected: Type | None) -> None:
    require(
        not isinstance(element, VectorType) and mask == expected,
        o,
        f"the mask {mask} does not fit",
        f"Use a mask of type {expected}; a memref of vectors takes none",
    )


_ATTRIBUTES = {
    "permutation_map": kinds.MAP,
    "in_bounds": kinds.optional(kinds.ARRAY),
}

TRANSFER_OPERATIONS = (
    op(
        "vector.transfer_read",
        "source:shaped indices* padding mask? -> vector:vector",
        (parse_transfer_read, print_transfer_read),
        attributes=_ATTRIBUTES,
        adapt=with_bounds,
        checks=[check_transfer_read],
    ),
    op(
        "vector.transfer_write",
        "valueToStore:vector source:shaped indices* mask? -> result?",
        (parse_transfer_write, print_transfer_write),
        attributes=_ATTRIBUTES,
        adapt=with_bounds,
        checks=[check_transfer_write],
    ),
)
