"""Hand-written syntax and rules of gpu operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.ops.declare import always
from gpucodegen.dialects.ops.func import check_func
from gpucodegen.dialects.ops.signatures import parse_signature, print_function
from gpucodegen.dialects.syntax import Argument, Reader, State, Writer
from gpucodegen.ir.attributes import (
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.types import I1, I32

BOOL = always(I1)
THIRTY_TWO = always(I32)
REDUCTIONS = (
    "add mul minui minsi minnumf maxui maxsi maxnumf and or xor minimumf maximumf"
).split()


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
        state.attributes["gpu.kernel"] = UnitAttr()
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [r.region(arguments, isolated=True, dialect="gpu")]


def parse_attributions(r: Reader, state: State) -> list[Argument]:
    """``workgroup(%w : memref) private(%p : memref)``: buffers of a kernel."""
    shared, private = _attributions(r, "workgroup"), _attributions(r, "private")
    if shared:
        state.attributes["workgroup_attributions"] = IntegerAttr(len(shared))
    return [*shared, *private]


def _attributions(r: Reader, word: str) -> list[Argument]:
    if r.token != word:
        return []
    r.advance()
    return r.listed("(", ")", lambda: _attribution(r))


def _attribution(r: Reader) -> Argument:
    use = r.use()
    r.expect(":")
    ty = r.type()
    r.attr_dict()
    return r.argument(use, ty)


def print_func(w: Writer, o: Operation) -> None:
    """``@name(arguments) workgroup(..) private(..) kernel attributes {..} { .. }``."""
    function = view.Function(o)
    w.write(f" {print_symbol(function.name)}")
    extra = () if function.is_external else function.arguments
    keywords = _attribution_text(w, o, extra[len(function.type.inputs) :])
    keywords += " kernel" if "gpu.kernel" in o.attributes else ""
    print_function(w, o, keywords)


def print_attributions(w: Writer, o: Operation, values: Sequence[Value]) -> None:
    """``workgroup(%w : memref) private(%p : memref)``."""
    w.write(_attribution_text(w, o, values))


def _attribution_text(w: Writer, o: Operation, values: Sequence[Value]) -> str:
    count = o.attributes.get("workgroup_attributions")
    shared = count.value if isinstance(count, IntegerAttr) else 0
    text = ""
    for word, group in (("workgroup", values[:shared]), ("private", values[shared:])):
        if group:
            text += f" {word}({', '.join(w.typed_names([v]) for v in group)})"
    return text


def check_kernel(o: Operation) -> None:
    """The entry block starts with the signature's arguments."""
    function = view.Function(o)
    if function.is_external:
        raise errors.EmptyBody(o.location, operation=o.name, expected="a gpu.return")
    extra = len(function.arguments) - len(function.type.inputs)
    if extra <= 0:
        check_func(o)


# -- others ----------------------------------------------------------------------------


def parse_all_reduce(r: Reader, state: State) -> None:
    """``add %x uniform {} : (type) -> type``."""
    if r.token in REDUCTIONS:
        state.attributes["op"] = OpaqueAttr(f"#gpu<all_reduce_op {r.advance()}>")
    use = r.use()
    if r.token == "uniform":
        r.advance()
        state.attributes["uniform"] = UnitAttr()
    state.regions = [r.region()]
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.function_type()
    state.operands = r.resolve_all([use], ty.inputs, use.start)
    state.result_types = list(ty.results)


def print_all_reduce(w: Writer, o: Operation) -> None:
    """``add %x uniform {} : (type) -> type``."""
    kind = o.attributes.get("op")
    text = kind.text if isinstance(kind, OpaqueAttr) else ""
    name = text.removeprefix("#gpu<all_reduce_op ").removesuffix(">")
    w.write(f" {name}" if name else "")
    w.write(f" {w.name(o.operands[0])}")
    w.write(" uniform " if "uniform" in o.attributes else " ")
    w.region(o.regions[0], arguments=True)
    w.attr_dict(o, ("op", "uniform"))
    w.write(f" : ({o.operands[0].type}) -> {o.results[0].type}")
