"""Hand-written syntax and rules of gpu operations."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import gpu as view
from gpucodegen.dialects.ops.declare import always
from gpucodegen.dialects.ops.func import check_func
from gpucodegen.dialects.ops.signatures import parse_signature, print_function
from gpucodegen.dialects.syntax import Argument, Reader, State, Use, Writer
from gpucodegen.ir.attributes import (
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    print_symbol,
)
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS
from gpucodegen.ir.types import I1, I32, INDEX, Type

BOOL = always(I1)
THIRTY_TWO = always(I32)
REDUCTIONS = (
    "add mul minui minsi minnumf maxui maxsi maxnumf and or xor minimumf maximumf"
).split()


def parse_module(r: Reader, state: State) -> None:
    """``@name attributes {..} { .. }``."""
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
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
    w.attr_dict(o, ("sym_name",), keyword=True)
    w.write(" ")
    w.region(o.regions[0])


# -- kernels ---------------------------------------------------------------------------


def parse_func(r: Reader, state: State) -> None:
    """``@name(arguments) workgroup(..) private(..) kernel attributes {..} { .. }``."""
    state.attributes["sym_name"] = StringAttr(r.symbol_name())
    signature = parse_signature(r)
    arguments = list(signature.arguments)
    state.attributes |= signature.attributes
    for word in ("workgroup", "private"):
        extra = _attributions(r, word)
        arguments += extra
        if word == "workgroup" and extra:
            state.attributes["workgroup_attributions"] = IntegerAttr(len(extra))
    if r.token == "kernel":
        r.advance()
        state.attributes["gpu.kernel"] = UnitAttr()
    state.attributes |= r.attr_dict_with_keyword()
    state.regions = [r.region(arguments, isolated=True, dialect="gpu")]


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
    print_function(w, o, _keywords(w, o, function))


def _keywords(w: Writer, o: Operation, function: view.Function) -> str:
    """Attributions and the ``kernel`` keyword."""
    extra = function.arguments[len(function.type.inputs) :]
    count = o.attributes.get("workgroup_attributions")
    shared = count.value if isinstance(count, IntegerAttr) else 0
    text = ""
    for word, values in (("workgroup", extra[:shared]), ("private", extra[shared:])):
        if values:
            text += f" {word}({', '.join(w.typed_names([v]) for v in values)})"
    return f"{text} kernel" if "gpu.kernel" in o.attributes else text


def check_kernel(o: Operation) -> None:
    """The entry block starts with the signature's arguments."""
    function = view.Function(o)
    if function.is_external:
        raise errors.EmptyBody(o.location, operation=o.name, expected="a gpu.return")
    extra = len(function.arguments) - len(function.type.inputs)
    if extra <= 0:
        check_func(o)


# -- launches --------------------------------------------------------------------------


def _sizes(r: Reader) -> list[Use]:
    return r.listed("(", ")", r.use)


def parse_launch_func(r: Reader, state: State) -> None:
    """``@m::@k blocks in (x,y,z) threads in (x,y,z) args(%a : type)``."""
    start = r.start
    state.attributes["kernel"] = SymbolRefAttr(r.symbol_path())
    sizes: list[list[Use]] = []
    for word in ("blocks", "threads"):
        r.one_of((word,), f"'{word}'")
        r.one_of(("in",), "'in'")
        sizes.append(_sizes(r))
    ty: Type = r.type() if r.accept(":") else INDEX
    shared: list[Value] = []
    if r.token == "dynamic_shared_memory_size":
        r.advance()
        shared = [r.resolve(r.use(), I32)]
    arguments: list[Value] = []
    if r.token == "args":
        r.advance()
        arguments = r.listed("(", ")", lambda: _typed(r))
    if [len(group) for group in sizes] != [3, 3]:
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="blocks and threads need three sizes each",
            hint="Write blocks in (%x, %y, %z) threads in (%x, %y, %z)",
        )
    state.attributes |= r.attr_dict()
    values = [r.resolve(use, ty) for group in sizes for use in group]
    state.operands = [*values, *shared, *arguments]
    segments = (0, 1, 1, 1, 1, 1, 1, 0, 0, 0, len(shared), len(arguments), 0)
    state.attributes[OPERAND_SEGMENTS] = DenseArrayAttr(I32, segments)


def _typed(r: Reader) -> Value:
    use = r.use()
    r.expect(":")
    return r.resolve(use, r.type())


def print_launch_func(w: Writer, o: Operation) -> None:
    """``@m::@k blocks in (..) threads in (..) args(..)``."""
    launch = view.LaunchFunc(o)
    w.write(f" {o.attributes['kernel']}")
    w.write(f" blocks in ({w.names(launch.grid)}) threads in ({w.names(launch.block)})")
    if launch.grid and launch.grid[0].type != INDEX:
        w.write(f" : {launch.grid[0].type}")
    if launch.shared_size:
        w.write(f" dynamic_shared_memory_size {w.names(launch.shared_size)}")
    if launch.arguments:
        w.write(f" args({', '.join(w.typed_names([a]) for a in launch.arguments)})")
    w.attr_dict(o, ("kernel", OPERAND_SEGMENTS))


def check_launch_func(o: Operation) -> None:
    """Three grid and three block sizes; a path of module and kernel."""
    launch = view.LaunchFunc(o)
    if len(launch.grid) != 3 or len(launch.block) != 3:
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected="three grid and three block sizes as",
            actual=len(launch.grid) + len(launch.block),
        )
    if len(launch.kernel) != 2:
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem="the kernel must be named by module and function",
            hint="Write @module::@kernel",
        )


def parse_launch(r: Reader, state: State) -> None:
    """``blocks(%bx, ..) in (%gx = %n, ..) threads(..) in (..) { .. }``."""
    arguments: list[Argument] = []
    sizes: list[Argument] = []
    for word in ("blocks", "threads"):
        r.one_of((word,), f"'{word}'")
        names = r.listed("(", ")", r.use)
        arguments += [r.argument(name, INDEX) for name in names]
        r.one_of(("in",), "'in'")
        for name, size in r.listed("(", ")", lambda: _assignment(r)):
            sizes.append(r.argument(name, INDEX))
            state.operands.append(r.resolve(size, INDEX))
    state.regions = [r.region([*arguments, *sizes], terminator="gpu.terminator")]
    state.attributes |= r.attr_dict()


def _assignment(r: Reader) -> tuple[Use, Use]:
    name = r.use()
    r.expect("=")
    return name, r.use()


def print_launch(w: Writer, o: Operation) -> None:
    """``blocks(%bx, ..) in (%gx = %n, ..) threads(..) in (..) { .. }``."""
    names = [w.name(a) for a in o.body.arguments]
    for start, word in enumerate(("blocks", "threads")):
        ids = ", ".join(names[3 * start : 3 * start + 3])
        pairs = zip(
            names[6 + 3 * start : 9 + 3 * start],
            o.operands[3 * start : 3 * start + 3],
            strict=False,
        )
        sizes = ", ".join(f"{name} = {w.name(size)}" for name, size in pairs)
        w.write(f" {word}({ids}) in ({sizes})")
    w.write(" ")
    w.region(o.regions[0])
    w.attr_dict(o)


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


def parse_alloc(r: Reader, state: State) -> None:
    """``(%sizes) : memref``."""
    state.operands = r.listed("(", ")", lambda: r.resolve(r.use(), INDEX))
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.result_types = [r.type()]


def print_alloc(w: Writer, o: Operation) -> None:
    """``(%sizes) : memref``."""
    w.write(f" ({w.names(o.operands)})")
    w.attr_dict(o)
    w.write(f" : {o.results[0].type}")
