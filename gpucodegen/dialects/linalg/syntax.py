"""Syntax of structured linalg operations: ``ins(..) outs(..)`` with or without body."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.declare import result_list
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.linalg import Structured, iterator
from gpucodegen.dialects.linalg.named.definitions import default_maps
from gpucodegen.dialects.linalg.named.tables import CONTRACTIONS
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DictAttr,
    OpaqueAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, segment_sizes

MEMOIZED = "linalg.memoized_indexing_maps"
"""A cache of MLIR's that shows up in its generic text."""

KIND = "#linalg.elementwise_kind"

# -- normal form -----------------------------------------------------------------------


def normalize_named(state: State) -> None:
    """Keep neither a region nor maps that the table knows."""
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
    """Iterator types as today's attributes, whatever they were written as."""
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
    """``ins(..) outs(..)``, with ``init(..)`` of 2020; returns how many are inputs."""
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
    """Remember that the first so many operands are inputs."""
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
    """The dictionary of maps and iterators, written out or by alias."""
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
