"""Syntax and rules of kernels and of the modules that hold them."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.signatures import parse_signature, print_function
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.dialects.func.operations import check_func
from gpucodegen.dialects.gpu.attributions import (
    attribution_text,
    check_attributions,
    parse_attributions,
)
from gpucodegen.ir.attributes import (
    StringAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region


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
