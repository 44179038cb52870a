"""Syntax and verifier rules of gpu modules, kernels, binaries and async clauses.

``async [%tokens]`` lets an operation wait for tokens and return one; ``workgroup(..)
private(..)`` are buffers in a kernel's signature. Attributes ``#gpu.kind<word>`` stand
as bare words in custom forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.constraints import TypeConstraint, require
from gpucodegen.dialects.framework.signatures import parse_signature, print_function
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.dialects.func.operations import check_func
from gpucodegen.dialects.shared.combiners import GPU_KINDS
from gpucodegen.ir.attributes import (
    ArrayAttr,
    DictAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    UnitAttr,
    dictionary,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.types import DialectType, MemRefType, Type
from gpucodegen.records import dataclass


def word(kind: str, names: Sequence[str]) -> kinds.AttributeKind:
    """A keyword for ``#gpu.kind<word>``."""
    return kinds.keyword_of(f"gpu.{kind}<", names)


def modern(name: str, kind: str) -> Callable[[State], None]:
    """Convert ``#gpu<kind word>`` and the strings of 2019 to today's attribute."""

    def adapt(state: State) -> None:
        value = state.attributes.get(name)
        if value is None:
            return
        text = value.value if isinstance(value, StringAttr) else str(value)
        for prefix in (f"#gpu<{kind} ", f"#gpu.{kind}<"):
            text = text.removeprefix(prefix)
        state.attributes[name] = OpaqueAttr(f"#gpu.{kind}<{text.removesuffix('>')}>")

    return adapt


DIMENSION = word("dim", ("x", "y", "z"))
REDUCTION = word("all_reduce_op", GPU_KINDS)
MODE = word("shuffle_mode", ("xor", "up", "down", "idx"))


TOKEN = DialectType("gpu.async.token")
_IS_TOKEN = TypeConstraint(str(TOKEN), lambda ty: ty == TOKEN)
TOKENS = {"asyncDependencies": _IS_TOKEN, "asyncToken": _IS_TOKEN}


def parse_async(r: Reader) -> tuple[list[Type], list[Use]]:
    """``async? [%tokens]?``: result types and the tokens to wait for."""
    results: list[Type] = []
    if r.accept("async"):
        results.append(TOKEN)
    uses = r.listed("[", "]", r.use) if r.token == "[" else []
    return results, uses


def print_async(w: Writer, o: Operation, tokens: tuple[Value, ...]) -> None:
    """``async? [%tokens]?``; the token is the last result."""
    if o.results and o.results[-1].type == TOKEN:
        w.write(" async")
    if tokens:
        w.write(f" [{w.names(tokens)}]")


@dataclass(frozen=True, slots=True)
class AsyncClause(FormatElement):
    """The clause as an element of a declarative format."""

    dependencies: str = "asyncDependencies"
    token: str = "asyncToken"

    def parse(self, parsed: ParsedElements) -> None:
        results, uses = parse_async(parsed.reader)
        parsed.types[self.token] = results
        parsed.uses[self.dependencies] = uses
        parsed.types[self.dependencies] = [TOKEN] * len(uses)

    def print(self, printed: Printed) -> None:
        tokens = tuple(printed.values[self.dependencies])
        print_async(printed.writer, printed.op, tokens)
        printed.after_word = True


def parse_attributions(r: Reader, state: State) -> list[Argument]:
    """``workgroup(%w : memref) private(%p : memref)``: buffers of a kernel."""
    shared = _attributions(r, state, "workgroup")
    private = _attributions(r, state, "private")
    if shared:
        state.attributes["workgroup_attributions"] = IntegerAttr(len(shared))
    return [*shared, *private]


def _attributions(r: Reader, state: State, word: str) -> list[Argument]:
    if r.token != word:
        return []
    r.advance()
    attributes: list[DictAttr] = []
    arguments = r.listed("(", ")", lambda: _attribution(r, attributes))
    if any(d.entries for d in attributes):
        state.attributes[f"{word}_attrib_attrs"] = ArrayAttr(tuple(attributes))
    return arguments


def _attribution(r: Reader, attributes: list[DictAttr]) -> Argument:
    use = r.use()
    r.expect(":")
    ty = r.type()
    attributes.append(dictionary(r.attr_dict()))
    return r.argument(use, ty)


def print_attributions(w: Writer, o: Operation, values: Sequence[Value]) -> None:
    """``workgroup(%w : memref) private(%p : memref)``."""
    w.write(attribution_text(w, o, values))


def attribution_text(w: Writer, o: Operation, values: Sequence[Value]) -> str:
    """The buffers of a kernel after its arguments."""
    shared = view.workgroup_count(o)
    groups = (("workgroup", values[:shared]), ("private", values[shared:]))
    return "".join(_group_text(w, o, word, group) for word, group in groups if group)


def _group_text(w: Writer, o: Operation, word: str, values: Sequence[Value]) -> str:
    written = o.attributes.get(f"{word}_attrib_attrs")
    entries = written.values if isinstance(written, ArrayAttr) else ()
    texts = (
        w.typed_names([value]) + (f" {entry}" if str(entry) != "{}" else "")
        for value, entry in zip_longest(values, entries, fillvalue=DictAttr())
        if isinstance(value, Value)
    )
    return f" {word}({', '.join(texts)})"


def check_attributions(o: Operation, start: int) -> None:
    """Workgroup and private buffers are memrefs of the right memory space."""
    shared = view.workgroup_count(o)
    for i, argument in enumerate(o.regions[0].blocks[0].arguments[start:]):
        name = "workgroup" if i < shared else "private"
        space = str(getattr(argument.type, "memory_space", "") or "")
        is_named = space.startswith("#gpu.address_space")
        require(
            isinstance(argument.type, MemRefType)
            and (not is_named or space == f"#gpu.address_space<{name}>"),
            o,
            f"{argument.type} is no {name} memory",
            f"Write a memref in #gpu.address_space<{name}>",
        )


_ANY_OBJECT = OpaqueAttr("#gpu.select_object")


def parse_binary(r: Reader, state: State) -> None:
    """``@name <handler> [objects] {attrs}``."""
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    state.attributes["offloadingHandler"] = _ANY_OBJECT
    if r.accept("<"):
        state.attributes["offloadingHandler"] = r.attribute()
        r.expect(">")
    state.attributes |= r.attr_dict()
    state.attributes["objects"] = r.attribute()


def print_binary(w: Writer, o: Operation) -> None:
    """``@name <handler> [objects] {attrs}``."""
    attributes = o.attributes
    name = attributes["sym_name"]
    w.write(f" {print_symbol(name.value) if isinstance(name, StringAttr) else name}")
    if attributes.get("offloadingHandler", _ANY_OBJECT) != _ANY_OBJECT:
        w.write(f" <{attributes['offloadingHandler']}>")
    w.attr_dict(o, ("sym_name", "offloadingHandler", "objects"))
    w.write(f" {attributes['objects']}")


def check_binary(o: Operation) -> None:
    """A binary has at least one object."""
    objects = o.attributes["objects"]
    require(
        isinstance(objects, ArrayAttr) and objects.values,
        o,
        "has no objects",
        "List at least one #gpu.object<..>",
    )


def parse_module(r: Reader, state: State) -> None:
    """``@name <handler> [targets] attributes {..} { .. }``."""
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    if r.accept("<"):
        state.attributes["offloadingHandler"] = r.attribute()
        r.expect(">")
    if r.token == "[":
        state.attributes["targets"] = r.attribute()
    state.attributes |= r.attr_dict_with_keyword()
    region = r.region(isolated=True, dialect="gpu")
    blocks = region.blocks
    if blocks and blocks[-1].operations[-1:]:
        last = blocks[-1].operations[-1]
        if last.name == "gpu.module_end":
            blocks = (blocks[-1].with_operations(blocks[-1].operations[:-1]),)
    state.regions = [Region(blocks or (Block(),))]


def print_module(w: Writer, o: Operation) -> None:
    """``@name attributes {..} { .. }``."""
    w.write(f" {print_symbol(view.Module(o).name)}")
    if "offloadingHandler" in o.attributes:
        w.write(f" <{o.attributes['offloadingHandler']}>")
    if "targets" in o.attributes:
        w.write(f" {o.attributes['targets']}")
    w.attr_dict(o, ("sym_name", "offloadingHandler", "targets"), keyword=True)
    w.write(" ")
    w.region(o.regions[0])


# -- kernels ---------------------------------------------------------------------------


def parse_func(r: Reader, state: State) -> None:
    """``@name(arguments) workgroup(..) private(..) kernel attributes {..} { .. }``."""
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    signature = parse_signature(r)
    arguments = list(signature.arguments)
    state.attributes |= signature.attributes
    arguments += parse_attributions(r, state)
    if r.accept("kernel"):
        state.attributes["kernel"] = UnitAttr()
    state.attributes |= r.attr_dict_with_keyword()
    modern_kernel(state)
    state.regions = [r.region(arguments, isolated=True, dialect="gpu")]


_SAID = (
    "kernel",
    "workgroup_attributions",
    "workgroup_attrib_attrs",
    "private_attrib_attrs",
)


def print_func(w: Writer, o: Operation) -> None:
    """``@name(arguments) workgroup(..) private(..) kernel attributes {..} { .. }``."""
    function = view.Function(o)
    w.write(f" {print_symbol(function.name)}")
    extra = () if function.is_external else function.arguments
    keywords = attribution_text(w, o, extra[len(function.type.inputs) :])
    keywords += " kernel" if "kernel" in o.attributes else ""
    print_function(w, o, keywords, _SAID)


def modern_kernel(state: State) -> None:
    """``gpu.kernel`` of older generic text has no dialect today."""
    if state.attributes.pop("gpu.kernel", None) is not None:
        state.attributes["kernel"] = UnitAttr()


def check_kernel(o: Operation) -> None:
    """The entry block's arguments match the signature."""
    function = view.Function(o)
    if function.is_external:
        raise errors.EmptyBody.at(o, expected="a gpu.return")
    count = len(function.type.inputs)
    if len(function.arguments) <= count:
        check_func(o)
    check_attributions(o, count)
    require(
        "kernel" not in o.attributes or not function.result_types,
        o,
        "a kernel gives results",
        "Write results to memory, or leave out kernel",
    )
