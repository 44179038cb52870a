"""Operations: results, generic form, custom forms by dialect."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.framework.printing import VERBATIM
from gpucodegen.dialects.framework.syntax import State, Use
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.parser.operations import unregistered
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import spellings

Names = list[tuple[str, int, int]]
"""Result names: name, number of values, start."""


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
    """All but the last operation are put before the one being parsed."""
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
        state.result_types = unregistered.stated_types(p, state.result_types, names)
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
    """Until 2019 one name stood for all results, told apart by ``%name#1``."""
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
    """Give an old generic operation its modern name, or refuse an unknown one."""
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
    return unregistered.parse_verbatim(p, sum(count for _, count, _ in names))
