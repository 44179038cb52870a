"""Syntax of structured linalg operations: ``ins(..) outs(..)`` with or without body.

It includes ``linalg.map``, ``reduce``, ``transpose`` and ``broadcast``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.framework.declare import result_list
from gpucodegen.dialects.framework.syntax import (
    Argument,
    ParseOp,
    PrintOp,
    Reader,
    State,
    Use,
    Writer,
)
from gpucodegen.dialects.linalg import Structured, iterator
from gpucodegen.dialects.linalg.named_definitions import default_maps
from gpucodegen.dialects.linalg.named_tables import CONTRACTIONS
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DictAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Region,
    Value,
    segment_sizes,
    single_block,
)
from gpucodegen.ir.types import I64, TensorType, UnrankedTensorType, element_type
from gpucodegen.records import dataclass

MEMOIZED = "linalg.memoized_indexing_maps"
"""A cache attribute of MLIR's that appears in its generic text."""

KIND = "#linalg.elementwise_kind"

# -- normal form -----------------------------------------------------------------------


def normalize_named(state: State) -> None:
    """Drop the region and maps that follow from the table."""
    state.regions = []
    state.attributes.pop(MEMOIZED, None)
    maps = state.attributes.get("indexing_maps")
    short = state.name.removeprefix("linalg.")
    if (
        short not in (*CONTRACTIONS, "elementwise")
        or maps is None
        or not state.operands
    ):
        return
    bare = Operation(state.name, tuple(state.operands))
    if maps == ArrayAttr(tuple(map(AffineMapAttr, default_maps(bare)))):
        del state.attributes["indexing_maps"]


def modern_iterators(state: State) -> None:
    """Convert iterator types of any vintage to today's attributes."""
    value = state.attributes.get("iterator_types")
    if isinstance(value, ArrayAttr):
        state.attributes["iterator_types"] = ArrayAttr(
            tuple(map(_iterator, value.values))
        )


def _iterator(value: Attribute) -> Attribute:
    if not isinstance(value, StringAttr):
        return value
    return iterator("reduction" if value.value == "window" else value.value)


# -- ins and outs ----------------------------------------------------------------------


def read_group(r: Reader, words: Sequence[str]) -> list[Value]:
    """``ins(%a, %b : type, type)``, or nothing."""
    if r.token not in words:
        return []
    r.advance()
    r.expect("(")
    uses = r.uses()
    start = r.start
    types = r.types() if r.accept(":") else []
    r.expect(")")
    return r.resolve_all(uses, types, start)


def read_operands(r: Reader, state: State) -> int:
    """``ins(..) outs(..)``, with ``init(..)`` of 2020; returns the number of inputs."""
    inputs = read_group(r, ("ins",))
    start = r.start
    outputs = read_group(r, ("outs",)) + read_group(r, ("init", "inits"))
    if not outputs:
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="has no outputs",
            hint="Write outs(%value : type) after the inputs",
        )
    state.operands = [*inputs, *outputs]
    return len(inputs)


def set_segments(state: State, inputs: int) -> None:
    """Record the number of inputs and of outputs as segment sizes."""
    groups = [state.operands[:inputs], state.operands[inputs:]]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def print_group(w: Writer, word: str, values: Sequence[Value]) -> None:
    """`` ins(%a, %b : type, type)``; nothing for no values."""
    if values:
        types = ", ".join(str(v.type) for v in values)
        w.write(f" {word}({w.names(values)} : {types})")


def print_results(w: Writer, results: Sequence[Value]) -> None:
    """`` -> types``; nothing for no results."""
    if results:
        w.write(f" -> {result_list(results)}")


# -- named -----------------------------------------------------------------------------


def parse_named(r: Reader, state: State) -> None:
    """``<kind> indexing_maps = [..] {attrs} ins(..) outs(..) -> types``."""
    _leading_attributes(r, state)
    state.attributes |= r.attr_dict()
    inputs = read_operands(r, state)
    state.attributes |= r.attr_dict()
    set_segments(state, inputs)
    state.result_types = r.arrow_types()
    normalize_named(state)


def _leading_attributes(r: Reader, state: State) -> None:
    """``<add>``, ``kind = ..`` and ``indexing_maps = [..]``."""
    if r.accept("<"):
        state.attributes["kind"] = OpaqueAttr(f"{KIND}<{r.keyword('a function')}>")
        r.expect(">")
    while r.token in ("indexing_maps", "kind"):
        name = r.advance()
        r.expect("=")
        state.attributes[name] = r.attribute()


def print_named(w: Writer, o: Operation) -> None:
    """``<kind> indexing_maps = [..] {attrs} ins(..) outs(..) -> types``."""
    structured = Structured(o)
    maps, kind = o.attributes.get("indexing_maps"), o.attributes.get("kind")
    if kind is not None:
        w.write(f" {str(kind).removeprefix(KIND)}")
    if maps is not None:
        w.write(f" indexing_maps = {maps}")
    w.attr_dict(o, (OPERAND_SEGMENTS, "indexing_maps", "kind"))
    print_group(w, "ins", structured.inputs)
    print_group(w, "outs", structured.outputs)
    print_results(w, o.results)


# -- generic ---------------------------------------------------------------------------


def read_trait(r: Reader, state: State) -> None:
    """The dictionary of maps and iterators, inline or as an alias."""
    start = r.start
    trait = r.attribute()
    if not isinstance(trait, DictAttr):
        raise errors.InvalidAttribute(
            r.location(start),
            problem=f"{state.name} needs a dictionary of indexing maps and iterators",
            hint="Write {indexing_maps = [..], iterator_types = [..]}",
        )
    state.attributes |= dict(trait.entries)
    modern_iterators(state)


def parse_generic(r: Reader, state: State) -> None:
    """``{trait} ins(..) outs(..) attrs = {..} { region } -> types``."""
    read_trait(r, state)
    set_segments(state, read_operands(r, state))
    if r.accept("attrs"):
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
    print_group(w, "ins", structured.inputs)
    print_group(w, "outs", structured.outputs)
    shown = {*_TRAIT, OPERAND_SEGMENTS}
    if set(o.attributes) - shown:
        w.write(" attrs =")
        w.attr_dict(o, shown)
    w.write(" ")
    w.region(o.regions[0], arguments=True)
    print_results(w, o.results)


def _trait_text(value: Attribute) -> str:
    if not isinstance(value, ArrayAttr):
        return str(value)
    return f"[{', '.join(map(_iterator_text, value.values))}]"


def _iterator_text(value: Attribute) -> str:
    text = value.text if isinstance(value, OpaqueAttr) else ""
    if not text.startswith("#linalg.iterator_type<"):
        return str(value)
    return f'"{text.removeprefix("#linalg.iterator_type<").removesuffix(">")}"'


def drop_region(state: State) -> None:
    """Drop the copying body of transposes and broadcasts, which print without one."""
    state.regions = []
    state.attributes.pop(MEMOIZED, None)


def _tensors(values: list[Value]) -> list[Value]:
    return [v for v in values if isinstance(v.type, TensorType | UnrankedTensorType)]


def _result_types(r: Reader, state: State, outputs: int) -> None:
    """Result types follow from tensor outputs; some text repeats them."""
    written = r.arrow_types()
    state.result_types = written or [
        v.type for v in _tensors(state.operands[-outputs:] if outputs else [])
    ]


# -- bodies ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Payload:
    """``{ arith.addf {attrs} }``: the short form of a one-operation body."""

    name: str
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


def _payload(r: Reader) -> _Payload | None:
    if r.token != "{":
        return None
    r.advance()
    payload = _Payload(r.keyword("an operation name"), r.attr_dict())
    r.expect("}")
    return payload


def _bare_region(r: Reader, state: State) -> None:
    """``(%a: type, %b: type) { .. }``."""
    arguments = r.listed("(", ")", lambda: _argument(r))
    state.regions = [r.region(arguments)]


def _argument(r: Reader) -> Argument:
    use: Use = r.use()
    r.expect(":")
    argument = r.argument(use, r.type())
    r.skip_location()
    return argument


def _short_body(r: Reader, state: State, payload: _Payload, *, folds: bool) -> None:
    """One operation on all arguments; a fold takes the accumulator first."""
    location = r.location(state.start)
    names = ["in"] * (len(state.operands) - 1) + ["init"]
    values = [
        Value(element_type(v.type), name, location)
        for v, name in zip(state.operands, names, strict=True)
    ]
    operands = (values[-1], *values[:-1]) if folds else tuple(values[:-1])
    result = Value(values[-1].type, "", location)
    attributes = payload.attributes
    body = Operation(payload.name, operands, (result,), attributes, location=location)
    end = Operation("linalg.yield", (result,), location=location)
    state.regions = [single_block([body, end], values)]


def _print_bare_region(w: Writer, o: Operation) -> None:
    arguments = ", ".join(f"{w.name(a)}: {a.type}" for a in o.body.arguments)
    w.write(f"\n  ({arguments}) ")
    w.region(o.regions[0])


# -- map -------------------------------------------------------------------------------


def add_output_argument(state: State) -> None:
    """Add the unused output argument that bodies lacked before 2025."""
    state.attributes.pop(MEMOIZED, None)
    for region in state.regions:
        if len(region.blocks) != 1 or not state.operands:
            return
        (block,) = region.blocks
        if len(block.arguments) == len(state.operands) - 1:
            output = Value(element_type(state.operands[-1].type), "init")
            arguments = (*block.arguments, output)
            whole = Block(arguments, block.operations, block.label)
            state.regions = [Region((whole,))]


def parse_map(r: Reader, state: State) -> None:
    """``{ op } ins(..) outs(..)`` or ``ins(..) outs(..) (args) { .. }``."""
    payload = _payload(r)
    read_operands(r, state)
    state.attributes |= r.attr_dict()
    if payload is None:
        _bare_region(r, state)
        add_output_argument(state)
    else:
        _short_body(r, state, payload, folds=False)
    _result_types(r, state, 1)


def print_map(w: Writer, o: Operation) -> None:
    """``ins(..) outs(..) (args) { .. }``."""
    print_group(w, "ins", o.operands[:-1])
    print_group(w, "outs", o.operands[-1:])
    w.attr_dict(o)
    _print_bare_region(w, o)


# -- reduce ----------------------------------------------------------------------------


def parse_reduce(r: Reader, state: State) -> None:
    """``{ op } ins(..) outs(..) dimensions = [0] (args) { .. }``."""
    payload = _payload(r)
    start = r.start
    inputs = read_operands(r, state)
    if 2 * inputs != len(state.operands):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem=f"{inputs} inputs but {len(state.operands) - inputs} outputs",
            hint="Pass one output per input",
        )
    _read_dimensions(r, state, "dimensions")
    state.attributes |= r.attr_dict()
    if payload is None:
        _bare_region(r, state)
    else:
        _short_body(r, state, payload, folds=True)
    _result_types(r, state, inputs)


def print_reduce(w: Writer, o: Operation) -> None:
    """``ins(..) outs(..) dimensions = [0] (args) { .. }``."""
    half = len(o.operands) // 2
    print_group(w, "ins", o.operands[:half])
    print_group(w, "outs", o.operands[half:])
    w.write(f" dimensions = {_bare(o, 'dimensions')}")
    w.attr_dict(o, ("dimensions",))
    _print_bare_region(w, o)


# -- transpose and broadcast -----------------------------------------------------------


def _read_dimensions(r: Reader, state: State, name: str) -> None:
    r.one_of((name,), f"'{name}'")
    r.expect("=")
    entries = r.listed("[", "]", r.integer)
    state.attributes[name] = DenseArrayAttr(I64, tuple(entries))


def _bare(o: Operation, name: str) -> str:
    entries = o.numbers(name)
    return f"[{', '.join(map(str, entries))}]"


def parse_dimensions(name: str) -> ParseOp:
    """``ins(..) outs(..) <name> = [1, 0]``."""

    def parse(r: Reader, state: State) -> None:
        read_operands(r, state)
        _read_dimensions(r, state, name)
        state.attributes |= r.attr_dict()
        _result_types(r, state, 1)

    return parse


def print_dimensions(name: str) -> PrintOp:
    """``ins(..) outs(..) <name> = [1, 0]``."""

    def print_(w: Writer, o: Operation) -> None:
        print_group(w, "ins", o.operands[:-1])
        print_group(w, "outs", o.operands[-1:])
        w.write(f" {name} = {_bare(o, name)}")
        w.attr_dict(o, (name,))

    return print_
