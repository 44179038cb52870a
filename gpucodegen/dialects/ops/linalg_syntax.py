"""Syntax of linalg operations: ``ins(..) outs(..)``, regions, short scalar forms."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.linalg import Structured, iterator
from gpucodegen.dialects.ops.declare import result_list
from gpucodegen.dialects.syntax import (
    Argument,
    ParseOp,
    PrintOp,
    Reader,
    State,
    Use,
    Writer,
)
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DictAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.segments import OPERAND_SEGMENTS, segment_sizes
from gpucodegen.ir.types import I64, TensorType, UnrankedTensorType, element_type


def drop_regions(state: State) -> None:
    """Named operations keep no region in memory: the table knows their body."""
    state.regions = []


def modern_iterators(state: State) -> None:
    """Iterator types as today's attributes, whatever they were written as."""
    value = state.attributes.get("iterator_types")
    if isinstance(value, ArrayAttr):
        state.attributes["iterator_types"] = ArrayAttr(
            tuple(map(_iterator, value.values))
        )


def _iterator(value: Attribute) -> Attribute:
    return iterator(value.value) if isinstance(value, StringAttr) else value


# -- ins and outs ----------------------------------------------------------------------


def _group(r: Reader, word: str) -> list[Value]:
    """``ins(%a, %b : type, type)``, or nothing."""
    if r.token != word:
        return []
    r.advance()
    r.expect("(")
    uses = r.uses()
    start = r.start
    types = r.types() if r.accept(":") else []
    r.expect(")")
    return r.resolve_all(uses, types, start)


def _ins_outs(r: Reader, state: State) -> None:
    inputs = _group(r, "ins")
    start = r.start
    outputs = _group(r, "outs")
    if not outputs:
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="has no outputs",
            hint="Write outs(%value : type) after the inputs",
        )
    state.operands = [*inputs, *outputs]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes([inputs, outputs])


def _print_group(w: Writer, word: str, values: Sequence[Value]) -> None:
    if values:
        types = ", ".join(str(v.type) for v in values)
        w.write(f" {word}({w.names(values)} : {types})")


def _print_results(w: Writer, results: Sequence[Value]) -> None:
    if results:
        w.write(f" -> {result_list(results)}")


# -- named -----------------------------------------------------------------------------


def parse_named(r: Reader, state: State) -> None:
    """``{attrs} ins(..) outs(..) -> types``."""
    if r.token == "(":
        _parse_old_named(r, state)
        return
    _leading_attributes(r, state)
    state.attributes |= r.attr_dict()
    _ins_outs(r, state)
    state.attributes |= r.attr_dict()
    state.result_types = r.arrow_types()
    if not state.result_types:
        outputs = state.operands[-1:]
        state.result_types = [v.type for v in outputs if _is_tensor(v)]


def _is_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType | UnrankedTensorType)


def _leading_attributes(r: Reader, state: State) -> None:
    """``indexing_maps = [..]`` and ``kind = ..`` of today's matmul family."""
    while r.token in ("indexing_maps", "kind"):
        name = r.advance()
        r.expect("=")
        state.attributes[name] = r.attribute()


def _parse_old_named(r: Reader, state: State) -> None:
    """``(%a, %b, %c) {attrs} : types`` of 2019 and 2020; the last is the output."""
    uses = r.listed("(", ")", r.use)
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types()
    values = r.resolve_all(uses, types, start)
    if state.name == "linalg.fill":
        values.reverse()
    state.operands = values
    groups = [values[:-1], values[-1:]]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)
    state.result_types = r.arrow_types()


def print_named(w: Writer, o: Operation) -> None:
    """``{attrs} ins(..) outs(..) -> types``."""
    structured = Structured(o)
    maps = o.attributes.get("indexing_maps")
    if maps is not None:
        w.write(f" indexing_maps = {maps}")
    w.attr_dict(o, (OPERAND_SEGMENTS, "indexing_maps"))
    _print_group(w, "ins", structured.inputs)
    _print_group(w, "outs", structured.outputs)
    _print_results(w, o.results)


# -- generic ---------------------------------------------------------------------------


def parse_generic(r: Reader, state: State) -> None:
    """``{trait} ins(..) outs(..) attrs = {..} { region } -> types``."""
    start = r.start
    trait = r.attribute()
    if not isinstance(trait, DictAttr):
        raise errors.InvalidAttribute(
            r.location(start),
            problem="linalg.generic needs a dictionary of indexing maps and iterators",
            hint="Write {indexing_maps = [..], iterator_types = [..]}",
        )
    state.attributes |= dict(trait.entries)
    modern_iterators(state)
    _ins_outs(r, state)
    if r.token == "attrs":
        r.advance()
        r.expect("=")
        state.attributes |= r.attr_dict()
    state.regions = [r.region()]
    state.result_types = r.arrow_types()


_TRAIT = ("indexing_maps", "iterator_types", "doc", "library_call")


def print_generic(w: Writer, o: Operation) -> None:
    """``{trait} ins(..) outs(..) attrs = {..} { region } -> types``."""
    structured = Structured(o)
    entries = [
        f"{name} = {_trait_text(o.attributes[name])}"
        for name in _TRAIT
        if name in o.attributes
    ]
    w.write(f" {{{', '.join(entries)}}}")
    _print_group(w, "ins", structured.inputs)
    _print_group(w, "outs", structured.outputs)
    shown = {*_TRAIT, OPERAND_SEGMENTS}
    if set(o.attributes) - shown:
        w.write(" attrs =")
        w.attr_dict(o, shown)
    w.write(" ")
    w.region(o.regions[0], arguments=True)
    _print_results(w, o.results)


def _trait_text(value: Attribute) -> str:
    if not isinstance(value, ArrayAttr):
        return str(value)
    return f"[{', '.join(map(_iterator_text, value.values))}]"


def _iterator_text(value: Attribute) -> str:
    text = value.text if isinstance(value, OpaqueAttr) else ""
    if not text.startswith("#linalg.iterator_type<"):
        return str(value)
    return f'"{text.removeprefix("#linalg.iterator_type<").removesuffix(">")}"'


# -- map and reduce --------------------------------------------------------------------


def _payload(r: Reader, state: State) -> str | None:
    """``{ arith.addf }``: the short form of a one-operation body."""
    if r.token != "{":
        return None
    r.advance()
    name = r.keyword("an operation name")
    state.attributes |= {f"payload.{k}": v for k, v in r.attr_dict().items()}
    r.expect("}")
    return name


def _bare_region(r: Reader, state: State) -> None:
    """``(%a: type, %b: type) { .. }``."""
    arguments = r.listed("(", ")", lambda: _argument(r))
    state.regions = [r.region(arguments)]


def _argument(r: Reader) -> Argument:
    use: Use = r.use()
    r.expect(":")
    return r.argument(use, r.type())


def _short_body(r: Reader, state: State, name: str, *, accumulator_first: bool) -> None:
    location = r.location(state.start)
    values = [Value(element_type(v.type), "in", location) for v in state.operands]
    if accumulator_first:
        operands = (values[-1], *values[:-1])
    else:
        operands = tuple(values[:-1])
        values = values[:-1]
    extra = {k: v for k, v in state.attributes.items() if k.startswith("payload.")}
    for key in extra:
        del state.attributes[key]
    attributes = {k.removeprefix("payload."): v for k, v in extra.items()}
    result = Value(element_type(state.operands[-1].type), "", location)
    body = Operation(name, operands, (result,), attributes, location=location)
    end = Operation("linalg.yield", (result,), location=location)
    state.regions = [single_block([body, end], values)]


def parse_map(r: Reader, state: State) -> None:
    """``{ op } ins(..) outs(..)`` or ``ins(..) outs(..) (args) { .. }``."""
    payload = _payload(r, state)
    _ins_outs(r, state)
    del state.attributes[OPERAND_SEGMENTS]
    state.attributes |= r.attr_dict()
    if payload is None:
        _bare_region(r, state)
    else:
        _short_body(r, state, payload, accumulator_first=False)
    state.result_types = [v.type for v in state.operands[-1:] if _is_tensor(v)]


def print_map(w: Writer, o: Operation) -> None:
    """``ins(..) outs(..) (args) { .. }``."""
    _print_group(w, "ins", o.operands[:-1])
    _print_group(w, "outs", o.operands[-1:])
    w.attr_dict(o)
    _print_bare_region(w, o)


def _print_bare_region(w: Writer, o: Operation) -> None:
    arguments = ", ".join(f"{w.name(a)}: {a.type}" for a in o.body.arguments)
    w.write(f"\n  ({arguments}) ")
    w.region(o.regions[0])


def parse_reduce(r: Reader, state: State) -> None:
    """``{ op } ins(..) outs(..) dimensions = [0] (args) { .. }``."""
    payload = _payload(r, state)
    _ins_outs(r, state)
    r.one_of(("dimensions",), "'dimensions'")
    r.expect("=")
    dimensions = r.listed("[", "]", r.integer)
    state.attributes["dimensions"] = DenseArrayAttr(I64, tuple(dimensions))
    state.attributes |= r.attr_dict()
    if payload is None:
        _bare_region(r, state)
    else:
        _short_body(r, state, payload, accumulator_first=True)
    half = len(state.operands) // 2
    state.result_types = [v.type for v in state.operands[half:] if _is_tensor(v)]


def print_reduce(w: Writer, o: Operation) -> None:
    """``ins(..) outs(..) dimensions = [0] (args) { .. }``."""
    structured = Structured(o)
    _print_group(w, "ins", structured.inputs)
    _print_group(w, "outs", structured.outputs)
    w.write(f" dimensions = {_bare(o, 'dimensions')}")
    w.attr_dict(o, ("dimensions", OPERAND_SEGMENTS))
    _print_bare_region(w, o)


def _bare(o: Operation, name: str) -> str:
    value = o.attributes[name]
    entries = value.values if isinstance(value, DenseArrayAttr) else ()
    return f"[{', '.join(map(str, entries))}]"


def parse_dimensions(name: str) -> ParseOp:
    """``ins(..) outs(..) <name> = [1, 0]``."""

    def parse(r: Reader, state: State) -> None:
        _ins_outs(r, state)
        del state.attributes[OPERAND_SEGMENTS]
        r.one_of((name,), f"'{name}'")
        r.expect("=")
        entries = r.listed("[", "]", r.integer)
        state.attributes[name] = DenseArrayAttr(I64, tuple(entries))
        state.attributes |= r.attr_dict()
        state.result_types = [v.type for v in state.operands[-1:] if _is_tensor(v)]

    return parse


def print_dimensions(name: str) -> PrintOp:
    """``ins(..) outs(..) <name> = [1, 0]``."""

    def print_(w: Writer, o: Operation) -> None:
        _print_group(w, "ins", o.operands[:-1])
        _print_group(w, "outs", o.operands[-1:])
        w.write(f" {name} = {_bare(o, name)}")
        w.attr_dict(o, (name,))

    return print_
