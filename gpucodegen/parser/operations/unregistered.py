"""Custom forms of unregistered operations: skipped by balanced text, kept verbatim.

The end of such an operation is where, outside all brackets, the next line starts
another one.  Types after its last ``:`` or ``->`` are taken for those of its results,
until a use states another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.ir.attributes import ArrayAttr, Attribute, IntegerAttr, StringAttr
from gpucodegen.ir.operation import (
    Operation,
    Successor,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import INDEX, Type
from gpucodegen.parser.definitions import aliases
from gpucodegen.parser.names.values import UNKNOWN_TYPE
from gpucodegen.parser.parser import Parser

_RESULT = re.compile(r"%[\w$.\-]+(?::\d+)?(?:\s*,\s*%[\w$.\-]+(?::\d+)?)*\s*=(?!=)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[\w$]+)+|[a-z_]+\b")
_GENERIC = re.compile(r'"[^"\n]*"\s*\(')
_ALIAS = re.compile(r"[#!][\w$.]+\s*=(?!=)|\{-#")
_PLAIN = frozenset(
    "assert assume_alignment br call call_indirect cfgfunc cond_br dealloc dma_start"
    " dma_wait extfunc func mlfunc module prefetch return store switch tensor_store"
    " yield".split()
)
"""Words without a dialect that may start an operation without results."""
_BRACKETS = ("(", "[", "{", "<")


def parse_verbatim(p: Parser, named: int) -> State:
    """Skip one operation; ``named`` is how many result names stand before it."""
    start = p.start
    name = p.token
    state = State(name, start)
    p.warn(errors.UnregisteredOperationKept(p.location(), name=name))
    skipped = _skip(p)
    state.attributes[VERBATIM] = _template(p, state, start, skipped)
    if named:
        state.result_types = _result_types(p, skipped, named)
    return state


@dataclass(slots=True)
class _Skipped:
    """Where it ends, its trailing types start (or -1), and what stands in braces."""

    end: int = 0
    types_from: int = -1
    braces: list[range] = field(default_factory=list[range])


def _skip(p: Parser) -> _Skipped:
    """Consume the operation."""
    skipped = _Skipped()
    line_end = p.end
    p.advance()
    while p.token and p.token not in (")", "]", "}"):
        if "\n" in p.text[line_end : p.start] and _starts_operation(p):
            break
        if p.token not in _BRACKETS or (p.token == "<" and p.start != line_end):
            if p.advance() in (":", "->"):
                skipped.types_from = p.start
        else:
            start = p.start
            if p.balanced()[0] == "{":
                skipped.braces.append(range(start, p.previous_end))
        line_end = p.previous_end
    skipped.end = line_end
    return skipped


def _starts_operation(p: Parser) -> bool:
    text, at = p.text, p.start
    if p.token[0] == "^" or any(r.match(text, at) for r in (_RESULT, _GENERIC, _ALIAS)):
        return True
    name = _NAME.match(text, at)
    return name is not None and ("." in name[0] or name[0] in _PLAIN)


_USE = re.compile(
    r"%(?P<value>\d+|[A-Za-z_$.\-][\w$.\-]*)(?:\#(?P<number>\d{1,9}))?"
    r"|\^(?P<label>\d+|[A-Za-z_$.\-][\w$.\-]*)"
    r"|(?P<alias>[\#!][A-Za-z_][\w$]*)(?![\w$.<])"
)


def _template(p: Parser, state: State, start: int, skipped: _Skipped) -> ArrayAttr:
    """The text in pieces, with the numbers of operands and successors between them."""
    pieces: list[Attribute] = []
    copied = start
    for match in _USE.finditer(p.text, start, skipped.end):
        reference = _reference(p, state, match, skipped)
        if reference is not None:
            pieces += [StringAttr(p.text[copied : match.start()]), reference]
            copied = match.end()
    pieces.append(StringAttr(p.text[copied : skipped.end]))
    return ArrayAttr(tuple(pieces))


def _reference(
    p: Parser, state: State, match: re.Match[str], skipped: _Skipped
) -> IntegerAttr | StringAttr | None:
    """What stands for a value (its number among the operands), a label, or an alias."""
    if match["alias"]:
        value = _alias_value(p, match["alias"])
        return None if value is None else StringAttr(str(value))
    if match["label"]:
        if any(match.start() in braces for braces in skipped.braces):
            return None
        state.successors.append(Successor(p.blocks.label(match["label"])))
        return IntegerAttr(len(state.successors) - 1, INDEX)
    values = p.scopes.lookup(match["value"])
    number = int(match["number"] or 0)
    if values is None or number >= len(values):
        return None
    return IntegerAttr(_position(state.operands, values[number]))


def _alias_value(p: Parser, name: str) -> Attribute | Type | None:
    """What an alias stands for, if there is one of this name."""
    table = p.type_aliases if name[0] == "!" else p.attribute_aliases
    if name not in table:
        aliases.resolve_ahead(p, name)
    return table.get(name)


def _position(operands: list[Value], value: Value) -> int:
    if value not in operands:
        operands.append(value)
    return operands.index(value)


def _result_types(p: Parser, skipped: _Skipped, named: int) -> list[Type]:
    """The trailing types if there are as many as results, else unknown ones."""
    unknown: list[Type] = [UNKNOWN_TYPE] * named
    if skipped.types_from < 0:
        return unknown
    p.move_to(skipped.types_from)
    try:
        types = p.listed("(", ")", p.type) if p.token == "(" else p.types()
    except errors.ParseError:
        types = []
    p.move_to(skipped.end)
    return types if len(types) == named else unknown


# -- unknown types ---------------------------------------------------------------------


def stated_types(
    p: Parser, guessed: list[Type], names: Sequence[tuple[str, int, int]]
) -> list[Type]:
    """The types that uses before the definition have stated, else the guessed ones."""
    keys = [(name, i) for name, count, _ in names for i in range(count)]
    forward = p.scopes.current.forward
    return [
        forward[key].value.type if key in forward else ty
        for key, ty in zip(keys, guessed, strict=False)
    ]


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
