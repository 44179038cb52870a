"""Hand-written syntax and rules of vector operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen import errors
from gpucodegen.dialects.assembly import DYNAMIC_MARK
from gpucodegen.dialects.definition import Check, Types
from gpucodegen.dialects.syntax import Reader, State, Use, Writer
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    Attribute,
    DenseArrayAttr,
    DictAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    MemRefType,
    TensorType,
    Type,
    VectorType,
)

# -- elements --------------------------------------------------------------------------


def elements_of_dest(
    types: Types, attributes: Mapping[str, Attribute]
) -> Sequence[Type] | None:
    """One scalar type per element of the result."""
    del attributes
    return _elements(types.get("dest"))


def elements_of_source(
    types: Types, attributes: Mapping[str, Attribute]
) -> Sequence[Type] | None:
    """One scalar type per element of the source."""
    del attributes
    return _elements(types.get("source"))


def _elements(known: Sequence[Type] | None) -> Sequence[Type] | None:
    if not known or not isinstance(known[0], VectorType):
        return None
    return (known[0].element,) * prod(known[0].shape)


def check_from_elements(o: Operation) -> None:
    """One operand of the element type per element."""
    ty = o.results[0].type
    expected = _elements([ty]) or ()
    if len(o.operands) != len(expected):
        raise errors.WrongOperandCount(
            o.location, operation=o.name, expected=len(expected), actual=len(o.operands)
        )
    for value, element in zip(o.operands, expected, strict=True):
        if value.type != element:
            raise errors.InvalidOperandType(
                o.location,
                operation=o.name,
                what="each element",
                expected=element,
                actual=value.type,
            )


def check_broadcast(o: Operation) -> None:
    """The source is a scalar or a vector whose shape ends the result's."""
    source, target = o.operands[0].type, o.results[0].type
    if not isinstance(target, VectorType):
        return
    shape = source.shape if isinstance(source, VectorType) else ()
    element = source.element if isinstance(source, VectorType) else source
    tail = target.shape[len(target.shape) - len(shape) :]
    fits = len(shape) <= len(target.shape) and all(
        a in (1, b) for a, b in zip(shape, tail, strict=True)
    )
    if element != target.element or not fits:
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=target,
            hint="Broadcast a scalar, or a vector whose extents end the result's",
        )


# -- outer product ---------------------------------------------------------------------


def parse_outerproduct(r: Reader, state: State) -> None:
    """``%a, %b, %acc {kind} : vector, vector``."""
    start = r.start
    uses = r.separated(r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    types = r.types()
    if len(uses) not in (2, 3) or len(types) != 2:
        raise errors.TypeCountMismatch(
            r.location(start), operands=len(uses), types=len(types)
        )
    result = _outer_type(*types)
    all_types = [*types, result][: len(uses)]
    state.operands = r.resolve_all(uses, all_types, start)
    state.result_types = [result]


def _outer_type(lhs: Type, rhs: Type) -> Type:
    if not isinstance(lhs, VectorType):
        return rhs
    rows = lhs.shape
    columns = rhs.shape if isinstance(rhs, VectorType) else ()
    return VectorType(rows + columns if columns else rows, lhs.element)


def print_outerproduct(w: Writer, o: Operation) -> None:
    """``%a, %b, %acc {kind} : vector, vector``."""
    w.write(f" {w.names(o.operands)}")
    is_add = o.attributes.get("kind") == OpaqueAttr("#vector.kind<add>")
    w.attr_dict(o, ("kind",) if is_add else ())
    w.write(f" : {o.operands[0].type}, {o.operands[1].type}")


def check_outerproduct(o: Operation) -> None:
    """The result's shape is rows times columns."""
    expected = _outer_type(o.operands[0].type, o.operands[1].type)
    for value in (*o.operands[2:], *o.results):
        if value.type != expected:
            raise errors.TypesDiffer(
                o.location,
                operation=o.name,
                first="the product",
                first_type=expected,
                second="the accumulator or result",
                second_type=value.type,
            )


# -- extract and insert ----------------------------------------------------------------


def _parse_position(r: Reader, state: State) -> list[Use]:
    dynamic: list[Use] = []

    def entry() -> int:
        if r.token[:1] != "%":
            return r.integer()
        dynamic.append(r.use())
        return DYNAMIC_MARK

    static = r.listed("[", "]", entry)
    state.attributes["static_position"] = DenseArrayAttr(I64, tuple(static))
    return dynamic


def _position_text(w: Writer, o: Operation, dynamic: Sequence[Value]) -> str:
    static = o.attributes.get("static_position")
    entries = static.values if isinstance(static, DenseArrayAttr) else ()
    rest = iter(dynamic)
    names = [w.name(next(rest)) if e == DYNAMIC_MARK else str(e) for e in entries]
    return f"[{', '.join(names)}]"


def parse_extract(r: Reader, state: State) -> None:
    """``%v[1, %i] : element from vector``; older text names the vector only."""
    source = r.use()
    dynamic = _parse_position(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    first = r.type()
    vector = first
    if r.token == "from":
        r.advance()
        vector = r.type()
    else:
        depth = len(getattr(state.attributes["static_position"], "values", ()))
        first = _inner(vector, depth)
    state.operands = [
        r.resolve(source, vector),
        *(r.resolve(use, INDEX) for use in dynamic),
    ]
    state.result_types = [first]


def _inner(ty: Type, depth: int) -> Type:
    if not isinstance(ty, VectorType):
        return ty
    rest = ty.shape[depth:]
    return VectorType(rest, ty.element, ty.scalable[depth:]) if rest else ty.element


def print_extract(w: Writer, o: Operation) -> None:
    """``%v[1] : element from vector``."""
    source, *dynamic = o.operands
    w.write(f" {w.name(source)}{_position_text(w, o, dynamic)}")
    w.attr_dict(o, ("static_position",))
    w.write(f" : {o.results[0].type} from {source.type}")


def parse_insert(r: Reader, state: State) -> None:
    """``%x, %v[1, %i] : element into vector``."""
    value = r.use()
    r.expect(",")
    dest = r.use()
    dynamic = _parse_position(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    value_type = r.type()
    r.one_of(("into",), "'into'")
    ty = r.type()
    state.operands = [
        r.resolve(value, value_type),
        r.resolve(dest, ty),
        *(r.resolve(use, INDEX) for use in dynamic),
    ]
    state.result_types = [ty]


def print_insert(w: Writer, o: Operation) -> None:
    """``%x, %v[1] : element into vector``."""
    value, dest, *dynamic = o.operands
    w.write(f" {w.name(value)}, {w.name(dest)}{_position_text(w, o, dynamic)}")
    w.attr_dict(o, ("static_position",))
    w.write(f" : {value.type} into {dest.type}")


def check_position(operand: int) -> Check:
    """The position lies inside the vector and fits the element's type."""

    def check(o: Operation) -> None:
        ty = o.operands[operand].type
        static = o.attributes.get("static_position")
        if not isinstance(ty, VectorType) or not isinstance(static, DenseArrayAttr):
            return
        if len(static.values) > len(ty.shape):
            raise errors.WrongRank(
                o.location, type=ty, rank=len(ty.shape), actual=len(static.values)
            )
        for entry, extent in zip(static.values, ty.shape, strict=False):
            if entry != DYNAMIC_MARK and not 0 <= entry < extent:
                raise errors.OutOfRange(
                    o.location,
                    operation=o.name,
                    what="position",
                    value=entry,
                    limit=extent,
                )
        element = o.results[0].type if operand == 0 else o.operands[0].type
        _check_inner(o, _inner(ty, len(static.values)), element)

    return check


def _check_inner(o: Operation, expected: Type, actual: Type) -> None:
    if expected != actual:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="the position",
            first_type=expected,
            second="the value",
            second_type=actual,
        )


def _bracketed_position(r: Reader) -> tuple[Use | None, Type]:
    """``[%i : index]`` or ``[]``."""
    r.expect("[")
    if r.accept("]"):
        return None, INDEX
    use = r.use()
    r.expect(":")
    ty = r.type()
    r.expect("]")
    return use, ty


def parse_extractelement(r: Reader, state: State) -> None:
    """``%v[%i : i32] : vector``."""
    vector = r.use()
    position, position_type = _bracketed_position(r)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    state.operands = [r.resolve(vector, ty)]
    if position is not None:
        state.operands.append(r.resolve(position, position_type))
    state.result_types = [ty.element if isinstance(ty, VectorType) else ty]


def print_extractelement(w: Writer, o: Operation) -> None:
    """``%v[%i : i32] : vector``."""
    vector, *position = o.operands
    w.write(f" {w.name(vector)}[{w.typed_names(position)}]")
    w.attr_dict(o)
    w.write(f" : {vector.type}")


def parse_insertelement(r: Reader, state: State) -> None:
    """``%x, %v[%i : i32] : vector``."""
    value = r.use()
    r.expect(",")
    vector = r.use()
    position, position_type = _bracketed_position(r)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    element = ty.element if isinstance(ty, VectorType) else ty
    state.operands = [r.resolve(value, element), r.resolve(vector, ty)]
    if position is not None:
        state.operands.append(r.resolve(position, position_type))
    state.result_types = [ty]


def print_insertelement(w: Writer, o: Operation) -> None:
    """``%x, %v[%i : i32] : vector``."""
    value, vector, *position = o.operands
    w.write(f" {w.name(value)}, {w.name(vector)}[{w.typed_names(position)}]")
    w.attr_dict(o)
    w.write(f" : {vector.type}")


# -- shuffle and contract --------------------------------------------------------------


def parse_shuffle(r: Reader, state: State) -> None:
    """``%a, %b [0, 5] : vector, vector``."""
    start = r.start
    uses = r.separated(r.use)
    mask = r.listed("[", "]", r.integer)
    state.attributes |= r.attr_dict()
    state.attributes["mask"] = DenseArrayAttr(I64, tuple(mask))
    r.expect(":")
    types = r.types()
    state.operands = r.resolve_all(uses, types, start)
    first = types[0]
    if isinstance(first, VectorType):
        state.result_types = [VectorType((len(mask), *first.shape[1:]), first.element)]
    else:
        state.result_types = [first]


def print_shuffle(w: Writer, o: Operation) -> None:
    """``%a, %b [0, 5] : vector, vector``."""
    mask = o.attributes["mask"]
    values = mask.values if isinstance(mask, DenseArrayAttr) else ()
    w.write(f" {w.names(o.operands)} [{', '.join(map(str, values))}]")
    w.attr_dict(o, ("mask",))
    w.write(f" : {', '.join(str(v.type) for v in o.operands)}")


def parse_contract(r: Reader, state: State) -> None:
    """``{trait} %a, %b, %acc : types into type``."""
    if r.token[:1] == "#":
        trait = r.attribute()
        entries = dict(trait.entries) if isinstance(trait, DictAttr) else {}
        state.attributes |= entries
    state.attributes |= r.attr_dict()
    start = r.start
    uses = r.separated(r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    types = r.types()
    r.one_of(("into",), "'into'")
    result = r.type()
    state.operands = r.resolve_all(uses, [*types[:2], result], start)
    state.result_types = [result]


def print_contract(w: Writer, o: Operation) -> None:
    """``{trait} %a, %b, %acc : types into type``."""
    w.attr_dict(o)
    lhs, rhs = (v.type for v in o.operands[:2])
    w.write(f" {w.names(o.operands)} : {lhs}, {rhs} into {o.results[0].type}")


# -- transfers -------------------------------------------------------------------------


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
