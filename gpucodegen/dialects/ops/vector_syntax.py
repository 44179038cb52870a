"""Hand-written syntax and rules of vector operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen import errors
from gpucodegen.dialects.definition import Check, Types
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I64,
    INDEX,
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
    if str(state.attributes.get("kind")) == "#vector.kind<add>":
        del state.attributes["kind"]
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


def _lane(r: Reader) -> int:
    """A number, once written with its type."""
    lane = r.integer()
    if r.accept(":"):
        r.type()
    return lane


def parse_shuffle(r: Reader, state: State) -> None:
    """``%a, %b [0, 5] : vector, vector``."""
    start = r.start
    uses = r.separated(r.use)
    mask = r.listed("[", "]", lambda: _lane(r))
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
