"""Hand-written syntax and rules of gpu operations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.signatures import parse_signature, print_function
from gpucodegen.dialects.framework.syntax import Argument, Reader, State, Writer
from gpucodegen.dialects.func.operations import check_func
from gpucodegen.dialects.gpu.launch.checks import check_attributions
from gpucodegen.ir.attributes import (
    ArrayAttr,
    DictAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    dictionary,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region, Value


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
    if r.token == "kernel":
        r.advance()
        state.attributes["kernel"] = UnitAttr()
    state.attributes |= r.attr_dict_with_keyword()
    modern_kernel(state)
    state.regions = [r.region(arguments, isolated=True, dialect="gpu")]


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
    keywords = _attribution_text(w, o, extra[len(function.type.inputs) :])
    keywords += " kernel" if "kernel" in o.attributes else ""
    print_function(w, o, keywords, _SAID)


def print_attributions(w: Writer, o: Operation, values: Sequence[Value]) -> None:
    """``workgroup(%w : memref) private(%p : memref)``."""
    w.write(_attribution_text(w, o, values))


def _attribution_text(w: Writer, o: Operation, values: Sequence[Value]) -> str:
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


def modern_kernel(state: State) -> None:
    """``gpu.kernel`` of older generic text has no dialect today."""
    if state.attributes.pop("gpu.kernel", None) is not None:
        state.attributes["kernel"] = UnitAttr()


def check_kernel(o: Operation) -> None:
    """The entry block starts with the signature's arguments."""
    function = view.Function(o)
    if function.is_external:
        raise errors.EmptyBody(o.location, operation=o.name, expected="a gpu.return")
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
