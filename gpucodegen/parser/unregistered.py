"""Custom forms of operations nobody registers: skipped by balanced text, kept verbatim.

The end of such an operation is where, outside all brackets, the next line starts
another one.  Types after its last ``:`` or ``->`` are taken for those of its results.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.dialects.printing import VERBATIM
from gpucodegen.dialects.syntax import State, Use
from gpucodegen.ir.attributes import ArrayAttr, Attribute, IntegerAttr, StringAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import DialectType, Type

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser

_RESULT = re.compile(r"%[\w$.\-]+(?::\d+)?(?:\s*,\s*%[\w$.\-]+(?::\d+)?)*\s*=(?!=)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[\w$]+)+|return\b|call\b|func\b|module\b")
_GENERIC = re.compile(r'"[^"\n]*"\s*\(')
_BRACKETS = ("(", "[", "{", "<")
UNKNOWN_TYPE = DialectType("gpucodegen.unknown")
"""Type of a result whose operation is kept as unread text, until a use states it."""


def parse_verbatim(p: Parser, named: int) -> State:
    """Skip one operation; ``named`` is how many result names stand before it."""
    start = p.start
    name = p.token
    state = State(name, start)
    p.warn(errors.UnregisteredOperationKept(p.location(), name=name))
    types_from = _skip(p, state, start)
    state.attributes[VERBATIM] = _template(p, state, start)
    if named:
        state.result_types = _result_types(p, types_from, named)
    return state


def _skip(p: Parser, state: State, start: int) -> int:
    """Consume the operation; returns where its trailing types start, or -1."""
    types_from = -1
    line_end = p.end
    p.advance()
    del state, start
    while p.token and p.token not in (")", "]", "}"):
        if "\n" in p.text[line_end : p.start] and _starts_operation(p):
            break
        if p.token in _BRACKETS:
            if p.token == "<" and p.start != line_end:
                p.advance()
            else:
                p.balanced()
        else:
            token = p.advance()
            if token in (":", "->"):
                types_from = p.start
        line_end = p.previous_end
    return types_from


def _starts_operation(p: Parser) -> bool:
    text, at = p.text, p.start
    if p.token[0] == "^":
        return True
    return any(rule.match(text, at) for rule in (_RESULT, _NAME, _GENERIC))


_USE = re.compile(r"%(\d+|[A-Za-z_$.\-][\w$.\-]*)(?:#(\d{1,9}))?")


def _template(p: Parser, state: State, start: int) -> ArrayAttr:
    """The text in pieces, with operand numbers where visible values are used."""
    pieces: list[Attribute] = []
    copied = start
    for match in _USE.finditer(p.text, start, p.previous_end):
        values = p.scopes.lookup(match[1])
        number = int(match[2] or 0)
        if values is None or number >= len(values):
            continue
        pieces.append(StringAttr(p.text[copied : match.start()]))
        pieces.append(IntegerAttr(_position(state.operands, values[number])))
        copied = match.end()
    pieces.append(StringAttr(p.text[copied : p.previous_end]))
    return ArrayAttr(tuple(pieces))


def _position(operands: list[Value], value: Value) -> int:
    if value not in operands:
        operands.append(value)
    return operands.index(value)


def _result_types(p: Parser, types_from: int, named: int) -> list[Type]:
    """The trailing types if there are as many as results, else unknown ones."""
    unknown: list[Type] = [UNKNOWN_TYPE] * named
    if types_from < 0:
        return unknown
    resume = p.previous_end
    p.move_to(types_from)
    try:
        types = p.listed("(", ")", p.type) if p.token == "(" else p.types()
    except errors.ParseError:
        types = []
    p.move_to(resume)
    return types if len(types) == named else unknown


# -- unknown types ---------------------------------------------------------------------


def refine(p: Parser, use: Use, ty: Type) -> Value:
    """Give a value of unknown type the type that a use states for it."""
    values = list(p.scopes.lookup(use.name) or ())
    old = values[use.number]
    values[use.number] = p.refined[old] = old.renewed(ty)
    p.scopes.current.values[use.name] = tuple(values)
    return values[use.number]


def with_refined(p: Parser, op: Operation) -> Operation:
    """The operation once all types that uses have stated are known."""
    if not p.refined:
        return op

    def rewrite(nested: Operation) -> list[Operation] | None:
        if not any(value in p.refined for value in nested.results):
            return None
        results = tuple(p.refined.get(value, value) for value in nested.results)
        return [nested.with_(results=results)]

    (rewritten,) = rewrite_bottom_up(op, rewrite)
    return substitute_values(rewritten, p.refined)
