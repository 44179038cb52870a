"""Hand-written syntax of extract, insert and shuffle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.vector.types import extents, vector_or_scalar
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, Type, VectorType, element_type

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


# -- positions -------------------------------------------------------------------------


def _parse_position(r: Reader, state: State) -> list[Use]:
    dynamic: list[Use] = []

    def entry() -> int:
        if r.token[:1] != "%":
            return _number(r)
        dynamic.append(r.use())
        return DYNAMIC_MARK

    static = r.listed("[", "]", entry)
    state.attributes["static_position"] = DenseArrayAttr(I64, tuple(static))
    return dynamic


def _number(r: Reader) -> int:
    """A number, once written with its type."""
    number = r.integer()
    if r.accept(":"):
        r.type()
    return number


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
        first = inner_type(vector, depth)
    state.operands = [
        r.resolve(source, vector),
        *(r.resolve(use, INDEX) for use in dynamic),
    ]
    state.result_types = [first]


def inner_type(ty: Type, depth: int) -> Type:
    """What a position of so many entries leaves of a vector's type."""
    if depth == 0 and extents(ty):
        return ty
    return vector_or_scalar(extents(ty)[depth:], element_type(ty))


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


# -- shuffle ---------------------------------------------------------------------------


def parse_shuffle(r: Reader, state: State) -> None:
    """``%a, %b [0, 5] : vector, vector``."""
    start = r.start
    uses = r.separated(r.use)
    mask = r.listed("[", "]", lambda: _number(r))
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
