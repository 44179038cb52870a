"""Short forms of TOSA's operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.framework.syntax import Reader, State, Use
from gpucodegen.dialects.stablehlo.syntax import read_types
from gpucodegen.dialects.stablehlo.words import word
from gpucodegen.ir.attributes import Attribute, OpaqueAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.ir.types import I1, TensorType, Type


def read_op(r: Reader, state: State) -> None:
    """``%a, %b {name = value, mode = WORD} : (types) -> types``."""
    uses = r.uses()
    if r.token == "{":
        state.attributes |= dict(r.listed("{", "}", lambda: _entry(r)))
    read_types(r, state, uses)


def _entry(r: Reader) -> tuple[str, Attribute]:
    name = r.keyword("an attribute name")
    if not r.accept("="):
        return name, UnitAttr()
    if r.token.isupper():
        return name, OpaqueAttr(f"#tosa<{name} {r.advance()}>")
    return name, r.attribute()


def chosen_word(op: Operation, name: str) -> str:
    """The word of an attribute, which may be a string.

    >>> from gpucodegen.ir.attributes import StringAttr
    >>> op = Operation("tosa.resize", attributes={"mode": StringAttr("BILINEAR")})
    >>> chosen_word(op, "mode"), chosen_word(op, "rounding_mode")
    ('BILINEAR', '')
    """
    return op.string(name) or word(op.attributes.get(name))


def read_cond_if(r: Reader, state: State) -> None:
    """``%c (%x = %a, ..) : tensor<i1> (types) -> types { .. } else { .. }``.

    Without arguments it is ``%c : tensor<i1> -> types``, or ``%c -> types``.
    """
    condition = r.use()
    pairs = _pairs(r) if r.token == "(" else []
    start = r.start
    ty: Type = TensorType((), I1)
    inputs: Sequence[Type] = ()
    if r.accept(":"):
        ty = r.type()
        inputs = r.listed("(", ")", r.type) if r.token == "(" else ()
    state.result_types = r.arrow_types()
    uses = [condition, *(given for _, given in pairs)]
    state.operands = r.resolve_all(uses, [ty, *inputs], start)
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [_region(r, pairs, inputs)]
    if r.accept("else"):
        state.regions.append(_region(r, pairs, inputs))


def read_while_loop(r: Reader, state: State) -> None:
    """``(%x = %a, ..) : (types) -> types { .. } do { .. }``."""
    pairs = _pairs(r)
    r.expect(":")
    start = r.start
    function = r.function_type()
    inputs = function.inputs
    state.operands = r.resolve_all([given for _, given in pairs], inputs, start)
    state.result_types = list(function.results)
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [_region(r, pairs, inputs)]
    r.one_of(("do",), "'do'")
    state.regions.append(_region(r, pairs, inputs))


def _pairs(r: Reader) -> list[tuple[Use, Use]]:
    return r.listed("(", ")", lambda: _pair(r))


def _pair(r: Reader) -> tuple[Use, Use]:
    name = r.use()
    r.expect("=")
    return name, r.use()


def _region(
    r: Reader, pairs: Sequence[tuple[Use, Use]], types: Sequence[Type]
) -> Region:
    """A region of named arguments, unless its block names them again."""
    named = [r.argument(name, ty) for (name, _), ty in zip(pairs, types, strict=True)]
    return r.region(named, renamed=True)
