"""Regions, blocks with their labels and arguments, and the targets of branches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.syntax import Argument, Use
from gpucodegen.ir.operation import Block, Label, Operation, Region, Successor, Value
from gpucodegen.ir.types import Type
from gpucodegen.parser.names.scopes import Blocks
from gpucodegen.parser.parser import Parser


def parse_region(
    p: Parser,
    arguments: Sequence[Argument] = (),
    *,
    isolated: bool = False,
    terminator: str = "",
    dialect: str = "",
    renamed: bool = False,
) -> Region:
    """``{ block* }``; ``arguments`` are those of the entry block, already written.

    ``renamed``: a label may write them again, and its names count then.
    """
    blocks = Blocks()
    p.expect("{")
    opening = p.previous_end - 1
    with p.nested(), p.region_scope(blocks, isolated=isolated, dialect=dialect):
        again = renamed and _LABEL.match(p.text, p.start)
        for name, value in () if again else arguments:
            p.define_value(name, value, opening)
        entry = tuple(a.value for a in arguments)
        parsed = _blocks(p, entry, terminator)
        _check_labels(p, blocks)
    p.close("{", "}", opening)
    return Region(tuple(parsed))


def _blocks(p: Parser, entry: tuple[Value, ...], terminator: str) -> list[Block]:
    parsed: list[Block] = []
    if not _at_label(p):
        operations = _block_operations(p, terminator)
        if operations or entry or _at_label(p) or terminator:
            parsed.append(Block(entry, operations))
    elif entry:
        parsed.append(_labelled_block(p, terminator, entry))
    while _at_label(p):
        parsed.append(_labelled_block(p, terminator))
    return parsed


def _block_operations(p: Parser, terminator: str = "") -> tuple[Operation, ...]:
    operations: list[Operation] = []
    outer, p.pending = p.pending, operations
    while p.token not in _BLOCK_END and not _at_label(p):
        op = p.operation()
        operations.append(op)
    p.pending = outer
    if terminator and not _is_ended(p, operations):
        operations.append(Operation(terminator, location=p.location()))
    return tuple(operations)


def _is_ended(p: Parser, operations: Sequence[Operation]) -> bool:
    definition = p.definition(operations[-1].name) if operations else None
    return definition is not None and definition.has(Trait.TERMINATOR)


_BLOCK_END = ("}", "")
_LABEL = re.compile(r"\^[\w$.-]+\s*\(")
"""A label with arguments."""


def _at_label(p: Parser) -> bool:
    """Whether a block starts here: ``^bb0``, or ``bb0`` in text of 2018."""
    if p.token[:1] == "^":
        return True
    return p.is_of_2018 and _BARE_LABEL.match(p.text, p.start) is not None


_BARE_LABEL = re.compile(
    r"(?!if\b)[A-Za-z_]\w*\s*(?::(?!:)|\((?:[^()=]|\((?:[^()=]|->)*\))*\)\s*:)"
)


def _labelled_block(p: Parser, terminator: str, entry: tuple[Value, ...] = ()) -> Block:
    start = p.start
    name = p.advance().removeprefix("^")
    if name in p.blocks.defined:
        raise errors.RedefinedBlock(p.location(start), name=name)
    p.blocks.defined.add(name)
    arguments = entry
    if p.token == "(":
        arguments = tuple(p.listed("(", ")", lambda: _block_argument(p)))
    p.expect(":")
    return Block(arguments, _block_operations(p, terminator), p.blocks.label(name))


def _block_argument(p: Parser) -> Value:
    use = p.use()
    p.expect(":")
    (value,) = p.define(use.name, [p.type()], use.start)
    p.skip_location()
    return value


def _check_labels(p: Parser, blocks: Blocks) -> None:
    missing = blocks.undefined()
    if missing is not None:
        name, start = missing
        known = sorted(blocks.defined)
        advice = errors.did_you_mean(name, known)
        raise errors.UndefinedBlock(p.location(start), name=name, advice=advice)


def parse_successor(p: Parser) -> Successor:
    """``^block`` or ``^block(%a, %b : types)``; also ``(%a : t, %b : t)``."""
    start = p.start
    is_bare = p.is_of_2018 and p.token[:1].isalpha()
    if not is_bare and (p.token[:1] != "^" or len(p.token) < 2):
        raise p.unexpected("a block such as ^bb1", "Block names start with '^'")
    name = p.advance().removeprefix("^")
    p.blocks.used.setdefault(name, start)
    label: Label = p.blocks.label(name)
    if not p.accept("("):
        return Successor(label)
    operands = [] if p.token == ")" else _passed(p)
    p.close("(", ")")
    return Successor(label, tuple(operands))


def _passed(p: Parser) -> list[Value]:
    uses: list[Use] = []
    types: list[Type] = []
    start = p.start
    while True:
        uses.append(p.use())
        if p.accept(":"):
            types += p.types() if len(types) < len(uses) - 1 else [p.type()]
        if not p.accept(","):
            return p.resolve_all(uses, types, start)
