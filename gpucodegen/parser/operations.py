"""Parser of operations, regions and unregistered operations.

Operations are read in generic or custom form. A custom form without a definition is
kept verbatim: its text is skipped by balanced brackets and ends where, outside all
brackets, the next line starts another operation. Types after its last ``:`` or ``->``
are taken as result types, until a use states another type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Unpack

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.dialects.framework.syntax import Argument, RegionOptions, State, Use
from gpucodegen.ir.attributes import ArrayAttr, Attribute, IntegerAttr, StringAttr
from gpucodegen.ir.operation import (
    Block,
    Label,
    Operation,
    Region,
    Successor,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import INDEX, Type
from gpucodegen.parser import definitions
from gpucodegen.parser.legacy import spellings
from gpucodegen.parser.names import UNKNOWN_TYPE, Blocks
from gpucodegen.parser.parser import Parser
from gpucodegen.records import dataclass


def parse_region(
    p: Parser, arguments: Sequence[Argument] = (), **options: Unpack[RegionOptions]
) -> Region:
    """``{ block* }``; ``arguments`` are those of the entry block, already parsed."""
    blocks, terminator = Blocks(), options.get("terminator", "")
    isolated, dialect = options.get("isolated", False), options.get("dialect", "")
    p.expect("{")
    opening = p.previous_end - 1
    with p.nested(), p.region_scope(blocks, isolated=isolated, dialect=dialect):
        again = options.get("renamed") and _LABEL.match(p.text, p.start)
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


_RESULT = re.compile(r"%[\w$.\-]+(?::\d+)?(?:\s*,\s*%[\w$.\-]+(?::\d+)?)*\s*=(?!=)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[\w$]+)+|[a-z_]+\b")
_GENERIC = re.compile(r'"[^"\n]*"\s*\(')
_ALIAS = re.compile(r"[#!][\w$.]+\s*=(?!=)|\{-#")
_PLAIN = frozenset(
    "assert assume_alignment br call call_indirect cfgfunc cond_br dealloc dma_start"
    " dma_wait extfunc func mlfunc module prefetch return store switch tensor_store"
    " yield".split()
)
"""Names without a dialect that may start an operation without results."""
_BRACKETS = ("(", "[", "{", "<")


def parse_verbatim(p: Parser, named: int) -> State:
    """Skip one operation; ``named`` is the number of result names before it."""
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
    """Extent of a skipped operation, its trailing types (or -1), and its braces."""

    end: int = 0
    types_from: int = -1
    braces: list[range] = field(default_factory=list[range])


def _skip(p: Parser) -> _Skipped:
    """Skip the text of the operation."""
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
    """The text in pieces, with operand and successor numbers between them."""
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
    """The operand number, label or alias that a reference in the text stands for."""
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
    table = p.type_aliases if name[0] == "!" else p.attribute_aliases
    if name not in table:
        definitions.resolve_ahead(p, name)
    return table.get(name)


def _position(operands: list[Value], value: Value) -> int:
    if value not in operands:
        operands.append(value)
    return operands.index(value)


def _result_types(p: Parser, skipped: _Skipped, named: int) -> list[Type]:
    """The trailing types if there is one per result, else unknown types."""
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
    """The types that earlier uses have stated, else the guessed ones."""
    keys = [(name, i) for name, count, _ in names for i in range(count)]
    forward = p.scopes.current.forward
    return [
        forward[key].value.type if key in forward else ty
        for key, ty in zip(keys, guessed, strict=False)
    ]


def with_refined(p: Parser, op: Operation) -> Operation:
    """The operation with the types that uses have stated."""
    if not p.refined:
        return op

    def rewrite(nested: Operation) -> list[Operation] | None:
        if not any(value in p.refined for value in nested.results):
            return None
        results = tuple(p.refined.get(value, value) for value in nested.results)
        return [nested.with_(results=results)]

    (rewritten,) = rewrite_bottom_up(op, rewrite)
    return substitute_values(rewritten, p.refined)


Names = list[tuple[str, int, int]]
"""Result names: name, number of values, offset."""


def parse_operation(p: Parser) -> Operation:
    """One operation, its result names and its trailing location."""
    names = _result_names(p) if p.token[:1] == "%" else []
    start = p.start
    state = _generic(p) if p.token[:1] == '"' else _custom(p, start, names)
    location = p.location(start)
    if p.token == "loc":
        location = p.trailing_location()
    results = _results(p, state, names, start)
    if VERBATIM in state.attributes:
        p.guessed.update(results)
    p.note_dimension(state, results)
    op = Operation(
        state.name,
        tuple(state.operands),
        results,
        state.attributes,
        tuple(state.regions),
        tuple(state.successors),
        state.properties,
        location,
    )
    return op if state.expand is None else _expanded(p, state.expand(op))


def _expanded(p: Parser, operations: Sequence[Operation]) -> Operation:
    """Emit all but the last operation before the current one."""
    *before, last = operations
    for op in before:
        p.emit(op)
    return last


def _result_names(p: Parser) -> Names:
    names = p.separated(lambda: _result_name(p))
    p.expect("=")
    return names


def _result_name(p: Parser) -> tuple[str, int, int]:
    start = p.start
    if p.token[:1] != "%" or p.token == "%":
        raise p.unexpected("a value name")
    name = p.advance()[1:]
    count = 1
    if p.accept(":"):
        count = p.integer()
        if not 0 < count <= _MAX_RESULTS:
            raise errors.TooLarge(
                p.location(start), what="a result count", size=count, limit=_MAX_RESULTS
            )
    return name, count, start


_MAX_RESULTS = 1 << 16


def _results(p: Parser, state: State, names: Names, start: int) -> tuple[Value, ...]:
    if VERBATIM in state.attributes:
        state.result_types = stated_types(p, state.result_types, names)
    types = state.result_types
    names = _counted(p, names, len(types))
    named = sum(count for _, count, _ in names)
    if not names:
        location = p.location(start)
        return tuple(Value(ty, "", location) for ty in types)
    if named != len(types):
        raise errors.ResultCountMismatch(
            p.location(names[0][2]),
            operation=state.name,
            actual=len(types),
            named=named,
            advice="" if types else "Remove the names and the '='",
        )
    results: list[Value] = []
    for name, count, name_start in names:
        own = types[len(results) : len(results) + count]
        results += p.define(name, own, name_start)
    return tuple(results)


def _counted(p: Parser, names: Names, count: int) -> Names:
    """Resolve results as of 2019, when one name with ``%name#1`` meant all of them."""
    if len(names) != 1 or names[0][1] != 1 or count < 2:
        return names
    name, _, start = names[0]
    is_old = p.is_of_2018 or f"%{name}#" in p.text
    return [(name, count, start)] if is_old else names


# -- generic form ----------------------------------------------------------------------


def _generic(p: Parser) -> State:
    """``"name"(operands)[successors] <{properties}> ({regions}) {attrs} : type``."""
    start = p.start
    state = State(p.string(), start)
    definition = p.definition(state.name)
    is_old = definition is None
    if is_old:
        definition = _renamed(p, state)
    uses = p.listed("(", ")", p.use)
    if p.token == "[":
        state.successors = p.listed("[", "]", p.successor)
    if p.token == "<":
        _properties(p, state, definition)
    isolated = definition is not None and definition.is_isolated
    if p.token == "(":
        state.regions = p.listed("(", ")", lambda: p.region(isolated=isolated))
    if p.token == "[":
        state.successors = p.listed("[", "]", p.successor)
    if p.token == "{":
        state.attributes |= p.attr_dict()
    _generic_types(p, state, uses)
    if definition is not None:
        definition.from_generic(state)
        spellings.adapt_generic(p, state, renamed=is_old)
    return state


def _renamed(p: Parser, state: State) -> Op | None:
    """Rename an old generic operation, or refuse an unknown one."""
    modern = spellings.modern_name(p, state.name)
    definition = p.definition(modern) if modern else None
    if definition is not None:
        state.name = definition.name
    elif not p.allow_unregistered:
        raise p.unknown_operation(state.name, state.start)
    return definition


def _properties(p: Parser, state: State, definition: Op | None) -> None:
    p.expect("<")
    entries = p.attr_dict()
    p.close("<", ">")
    if definition is None:
        state.properties.update(entries)
    else:
        state.attributes |= entries


def _generic_types(p: Parser, state: State, uses: Sequence[Use]) -> None:
    p.expect(":")
    start = p.start
    signature = p.function_type() if p.token == "(" else spellings.bare_signature(p)
    results = spellings.function_results(p, signature)
    state.operands = p.resolve_all(uses, signature.inputs, start)
    state.result_types = list(results)


# -- custom forms ----------------------------------------------------------------------


def _custom(p: Parser, start: int, names: Names) -> State:
    if not (p.token[:1].isalpha() or p.token[:1] == "_"):
        raise p.unexpected("an operation")
    name = p.token
    definition = p.definition(name)
    if definition is None and "." not in name:
        definition = p.definition(f"{p.default_dialect}.{name}")
    if definition is not None and definition.parse is not None:
        p.advance()
        state = State(definition.name, start)
        if not spellings.is_old_spelling(p, definition.name, state):
            definition.parse(p, state)
            definition.drop_defaults(state)
        return state
    old = spellings.lookup(name)
    if old is not None:
        p.advance()
        state = State(name, start)
        old(p, state)
        return state
    if not p.allow_unregistered:
        raise p.unknown_operation(name, start)
    return parse_verbatim(p, sum(count for _, count, _ in names))
