"""Kinds of attributes in operation syntax: parser, printer and predicate of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpucodegen.dialects.framework.syntax import Reader
from gpucodegen.dialects.shared.combiners import OLD_KINDS
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    IntegerSetAttr,
    OpaqueAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.types import I1, I32, I64, INDEX, Type
from gpucodegen.records import dataclass


def _anywhere(r: Reader) -> bool:
    return r.token not in (",", ")", "]", "}", ">", ":", "")


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """How an attribute is written in an operation's custom form."""

    what: str
    read: Callable[[Reader], Attribute]
    write: Callable[[Attribute], str] = str
    starts: Callable[[Reader], bool] = _anywhere
    accepts: Callable[[Attribute], bool] = lambda _: True
    default: Attribute | None = None
    optional: bool = False


def _any_attribute(r: Reader) -> Attribute:
    return r.attribute()


ANY = AttributeKind("an attribute", _any_attribute)
OPTIONAL = AttributeKind("an attribute", _any_attribute, optional=True)


# -- numbers ---------------------------------------------------------------------------


def integer(
    ty: Type = I64, *, optional: bool = False, default: int | None = None
) -> AttributeKind:
    """A bare integer of a fixed type."""

    def read(r: Reader) -> Attribute:
        return IntegerAttr(r.integer(), ty)

    def write(attribute: Attribute) -> str:
        is_integer = isinstance(attribute, IntegerAttr)
        return str(attribute.value) if is_integer else str(attribute)

    return AttributeKind(
        f"an integer of type {ty}",
        read,
        write,
        accepts=lambda a: isinstance(a, IntegerAttr),
        default=None if default is None else IntegerAttr(default, ty),
        optional=optional or default is not None,
    )


def _read_bool(r: Reader) -> Attribute:
    return IntegerAttr(int(r.one_of(("true", "false"), "true or false") == "true"), I1)


BOOL = AttributeKind(
    "true or false", _read_bool, accepts=lambda a: isinstance(a, IntegerAttr)
)


def either(no: str, yes: str) -> AttributeKind:
    """A keyword ``no`` or ``yes`` for a boolean attribute."""
    words = (no, yes)

    def read(r: Reader) -> Attribute:
        return IntegerAttr(words.index(r.one_of(words, " or ".join(sorted(words)))), I1)

    def write(attribute: Attribute) -> str:
        return words[int(getattr(attribute, "value", 0))]

    return replace(BOOL, read=read, write=write)


FALSE_BY_DEFAULT = AttributeKind(
    "true or false", _read_bool, default=IntegerAttr(0, I1), optional=True
)
UNIT = AttributeKind(
    "a unit attribute",
    lambda _: UnitAttr(),
    lambda _: "",
    accepts=lambda a: isinstance(a, UnitAttr),
    optional=True,
)
INT32 = integer(I32)
INT64 = integer(I64)
INDEX_INT = integer(INDEX)


def integers(element: Type = I64) -> AttributeKind:
    """``[1, 2]`` for a dense array of integers."""

    def read(r: Reader) -> Attribute:
        return DenseArrayAttr(element, tuple(r.listed("[", "]", r.integer)))

    return AttributeKind(
        f"array<{element}>",
        read,
        _bare_list,
        starts=lambda r: r.token == "[",
        accepts=lambda a: isinstance(a, DenseArrayAttr),
    )


def _bare_list(attribute: Attribute) -> str:
    if isinstance(attribute, DenseArrayAttr):
        return f"[{', '.join(map(str, attribute.values))}]"
    return str(attribute)


def optional(kind: AttributeKind) -> AttributeKind:
    """The same kind for an optional attribute."""
    return AttributeKind(
        kind.what, kind.read, kind.write, kind.starts, kind.accepts, kind.default, True
    )


# -- names -----------------------------------------------------------------------------


def _read_symbol_name(r: Reader) -> Attribute:
    return StringAttr(r.symbol_name())


def _write_symbol_name(attribute: Attribute) -> str:
    is_string = isinstance(attribute, StringAttr)
    return print_symbol(attribute.value) if is_string else str(attribute)


def _at_symbol(r: Reader) -> bool:
    return r.token[:1] == "@"


SYMBOL_NAME = AttributeKind(
    "a symbol name",
    _read_symbol_name,
    _write_symbol_name,
    _at_symbol,
    lambda a: isinstance(a, StringAttr),
)
SYMBOL = AttributeKind(
    "a symbol reference",
    lambda r: SymbolRefAttr(r.symbol_path()),
    starts=_at_symbol,
    accepts=lambda a: isinstance(a, SymbolRefAttr),
)
STRING = AttributeKind(
    "a string",
    lambda r: StringAttr(r.string()),
    starts=lambda r: r.token[:1] == '"',
    accepts=lambda a: isinstance(a, StringAttr),
)
_VISIBILITIES = ("public", "private", "nested")
VISIBILITY = AttributeKind(
    '"public", "private" or "nested"',
    lambda r: StringAttr(r.string()),
    accepts=lambda a: isinstance(a, StringAttr) and a.value in _VISIBILITIES,
)
TYPE = AttributeKind(
    "a type", lambda r: TypeAttr(r.type()), accepts=lambda a: isinstance(a, TypeAttr)
)
MAP = AttributeKind(
    "an affine map",
    lambda r: AffineMapAttr(r.affine_map()),
    accepts=lambda a: isinstance(a, AffineMapAttr),
)
SET = AttributeKind(
    "an integer set",
    lambda r: IntegerSetAttr(r.integer_set()),
    accepts=lambda a: isinstance(a, IntegerSetAttr),
)
ARRAY = AttributeKind(
    "an array", _any_attribute, accepts=lambda a: isinstance(a, ArrayAttr)
)


# -- enumerations ----------------------------------------------------------------------


def enumeration(
    names: Sequence[str],
    ty: Type = I64,
    *,
    renamed: Mapping[str, str] | None = None,
) -> AttributeKind:
    """A keyword for its position in ``names``; ``renamed`` maps older keywords."""
    positions = {name: i for i, name in enumerate(names)}
    positions |= {old: positions[name] for old, name in (renamed or {}).items()}

    def read(r: Reader) -> Attribute:
        return IntegerAttr(positions[r.one_of(positions, "a predicate")], ty)

    def write(attribute: Attribute) -> str:
        is_position = isinstance(attribute, IntegerAttr)
        return names[attribute.value] if is_position else str(attribute)

    def accepts(attribute: Attribute) -> bool:
        is_integer = isinstance(attribute, IntegerAttr)
        return is_integer and 0 <= attribute.value < len(names)

    return AttributeKind(
        f"one of {', '.join(names)}",
        read,
        write,
        starts=lambda r: r.token.strip('"') in positions,
        accepts=accepts,
    )


def bracketed(
    prefix: str,
    default: str,
    renamed: Mapping[str, str] | None = None,
    words: str = "",
) -> AttributeKind:
    """``<a, b>`` for a dialect attribute ``#prefix<a, b>``, kept as text.

    Older text may have the whole attribute or a string; ``renamed`` maps older words.
    ``words``, if given, are the only ones allowed.
    """
    head = f"#{prefix}"
    today = renamed or {}
    allowed = frozenset(words.split())

    def read(r: Reader) -> Attribute:
        if r.token[:1] == "#" and r.token != head:
            return r.attribute()
        if r.token == head:
            r.advance()
        is_string = r.token[:1] == '"'
        written = [r.string()] if is_string else r.listed("<", ">", lambda: word(r))
        return OpaqueAttr(f"{head}<{','.join(today.get(w, w) for w in written)}>")

    def word(r: Reader) -> str:
        return r.one_of(allowed, "a flag") if allowed else r.keyword()

    def accepts(attribute: Attribute) -> bool:
        has_head = isinstance(attribute, OpaqueAttr) and attribute.text.startswith(head)
        return has_head or not allowed

    def write(attribute: Attribute) -> str:
        return str(attribute).removeprefix(head).replace(", ", ",")

    return AttributeKind(
        f"#{prefix}<...>",
        read,
        write,
        starts=lambda r: r.token in ("<", head) or r.token[:1] == '"',
        accepts=accepts,
        default=OpaqueAttr(f"{head}<{default}>") if default else None,
        optional=bool(default),
    )


def keyword_of(prefix: str, names: Sequence[str]) -> AttributeKind:
    """A bare keyword for a dialect attribute ``#prefix<keyword>``."""
    head = f"#{prefix}"

    def read(r: Reader) -> Attribute:
        if r.token[:1] == "#":
            return r.attribute()
        return OpaqueAttr(f"{head}{r.one_of(names, f'one of {names}')}>")

    def write(attribute: Attribute) -> str:
        return str(attribute).removeprefix(head).removesuffix(">")

    def accepts(attribute: Attribute) -> bool:
        return write(attribute).strip('"') in names

    return AttributeKind(f"one of {', '.join(names)}", read, write, accepts=accepts)


FASTMATH = bracketed(
    "arith.fastmath",
    "none",
    words="none reassoc nnan ninf nsz arcp contract afn fast",
)
OVERFLOW = bracketed("arith.overflow", "none", words="none nsw nuw")


def vector_kind(default: str = "") -> AttributeKind:
    """``<add>``: the combining kind of a vector reduction; old names are converted."""
    return bracketed("vector.kind", default, OLD_KINDS)


VECTOR_KIND = vector_kind()
