"""Types: scalars by table, shaped types by regular expression and cache."""

from __future__ import annotations

import re

from gpucodegen import errors
from gpucodegen.ir.types import (
    INDEX,
    ComplexType,
    DialectType,
    FloatType,
    FunctionType,
    IntegerType,
    NoneType,
    TupleType,
    Type,
)
from gpucodegen.parser.definitions import aliases
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.types import memrefs, shaped

FLOATS = (
    "f16 bf16 f32 f64 f80 f128 tf32 f4E2M1FN f6E2M3FN f6E3M2FN f8E3M4 f8E4M3"
    " f8E4M3B11FNUZ f8E4M3FN f8E4M3FNUZ f8E5M2 f8E5M2FNUZ f8E8M0FNU"
).split()
_TENSORFLOW = "complex64 complex128 control f32ref resource string variant".split()
_SCALARS: dict[str, Type] = {
    **{name: FloatType(name) for name in FLOATS},
    "index": INDEX,
    "none": NoneType(),
    # Text of 2018: other names, and TensorFlow's types without their dialect.
    "affineint": INDEX,
    **{f"tf_{name}": DialectType(f"tf.{name}") for name in _TENSORFLOW},
}
_INTEGER = re.compile(r"([su]?)i0*(0|[1-9]\d*)")
_MAX_WIDTH = (1 << 24) - 1
_SIMPLE = re.compile(r"(?:memref|tensor|vector)\s*<[^<>\[#!\"/]*>", re.ASCII)
_SHAPED = ("memref", "tensor", "vector")


def parse_type(p: Parser) -> Type:
    """Any type, a function type included."""
    token = p.token
    cached = p.type_cache.get(token)
    if cached is not None:
        p.advance()
        return cached
    if token in _SHAPED:
        return _parse_shaped(p)
    first = token[:1]
    if first == "!":
        return _parse_named(p)
    if first == "(":
        return parse_function_type(p)
    with p.nested():
        return _parse_other(p)


def scalar_cache() -> dict[str, Type]:
    """The types of one token, to start a parser's cache with."""
    return dict(_SCALARS)


def parse_function_type(p: Parser) -> FunctionType:
    """``(inputs) -> results``."""
    with p.nested():
        inputs = p.listed("(", ")", lambda: parse_type(p))
        p.expect("->")
        return FunctionType(tuple(inputs), tuple(parse_results(p)))


def parse_results(p: Parser) -> list[Type]:
    """One type, or a parenthesised list."""
    if p.token != "(":
        return [parse_type(p)]
    return p.listed("(", ")", lambda: parse_type(p))


def _parse_other(p: Parser) -> Type:
    token, start = p.token, p.start
    match = _INTEGER.fullmatch(token)
    if match:
        return _parse_integer(p, match)
    if token == "complex":
        return _parse_complex(p)
    if token == "tuple":
        p.advance()
        return TupleType(tuple(p.listed("<", ">", lambda: parse_type(p))))
    if token == "opaque":
        p.advance()
        return DialectType(f"opaque{p.balanced()}")
    if not token[:1].isalpha():
        raise p.unexpected("a type")
    known = [*_SCALARS, *_SHAPED, "complex", "tuple", "i1", "i8", "i16", "i32", "i64"]
    raise errors.UnknownType(
        p.location(start), name=token, advice=errors.did_you_mean(token, known)
    )


def _parse_integer(p: Parser, match: re.Match[str]) -> Type:
    width = int(match[2]) if len(match[2]) < 9 else _MAX_WIDTH + 1
    if width > _MAX_WIDTH:
        raise errors.InvalidType(
            p.location(),
            problem=f"integer width {match[2]} is beyond {_MAX_WIDTH}",
            hint="Use a narrower integer",
        )
    ty = IntegerType(width, match[1])
    p.type_cache[p.advance()] = ty
    return ty


def _parse_complex(p: Parser) -> Type:
    p.advance()
    p.expect("<")
    start = p.start
    element = parse_type(p)
    if not isinstance(element, FloatType | IntegerType):
        raise errors.InvalidType(
            p.location(start),
            problem=f"complex<{element}> is not a type",
            hint="The element must be a float or an integer",
        )
    p.close("<", ">")
    return ComplexType(element)


def _parse_named(p: Parser) -> Type:
    """An alias ``!name``, or a type of another dialect, kept as text."""
    start = p.start
    name = p.advance()
    is_plain = "." not in name and p.token != "<"
    if name not in p.type_aliases and is_plain:
        aliases.resolve_ahead(p, name)
    if name in p.type_aliases:
        return p.type_aliases[name]
    if is_plain:
        known = list(p.type_aliases)
        advice = errors.did_you_mean(name, known)
        raise errors.UnknownAlias(p.location(start), name=name, advice=advice)
    is_body = p.token == "<" and p.start == start + len(name)
    return DialectType(name[1:] + (dialect_body(p) if is_body else ""))


def dialect_body(p: Parser) -> str:
    """``<..>`` of a dialect's type or attribute, with its aliases put in."""
    text = p.balanced()
    return _INNER_ALIAS.sub(lambda found: _expanded(p, found), text)


_INNER_ALIAS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[#!][A-Za-z_][\w$]*(?![\w$.<])')


def _expanded(p: Parser, found: re.Match[str]) -> str:
    name = found[0]
    value = p.type_aliases.get(name) or p.attribute_aliases.get(name)
    return name if value is None else str(value)


# -- shaped types ----------------------------------------------------------------------


def _parse_shaped(p: Parser) -> Type:
    match = _SIMPLE.match(p.text, p.start)
    cached = p.type_cache.get(match[0]) if match else None
    if match and cached is not None:
        p.move_to(match.end())
        return cached
    with p.nested():
        kind = p.advance()
        opening = p.start
        p.expect("<")
        ty = _SHAPED_PARSERS[kind](p, opening + 1)
    if match and p.previous_end == match.end():
        p.type_cache[match[0]] = ty
    return ty


_SHAPED_PARSERS = {
    "vector": shaped.parse_vector,
    "tensor": shaped.parse_tensor,
    "memref": memrefs.parse_memref,
}
