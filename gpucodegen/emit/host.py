"""One host function -> plain Python that calls the runtime.

Allocations, launches and calls become ``rt.*`` calls; the scalar code, loops and
branches around them stay Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine, gpu, memref
from gpucodegen.dialects.func import Call, Function
from gpucodegen.emit import affine_loops, cfg, scalars, scf_loops, transfers
from gpucodegen.emit.addressing import sizes_of, strides_of
from gpucodegen.emit.cfg import emit_blocks
from gpucodegen.emit.context import Emitter, Handlers
from gpucodegen.emit.header import Header, literal
from gpucodegen.emit.kernel import PLAIN_NAMES, EmittedKernel
from gpucodegen.emit.kinds import is_index
from gpucodegen.emit.memory import kept_dimensions, memref_type, nothing, stored_dtype
from gpucodegen.emit.names import Names
from gpucodegen.emit.target import HOST
from gpucodegen.emit.text import Text, call, number
from gpucodegen.errors import ExternalFunction
from gpucodegen.ir.affine import AffineExpr, Const
from gpucodegen.ir.attributes import AffineMapAttr, SymbolRefAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType


@dataclass(slots=True)
class HostEmitter(Emitter):
    """An emitter that also knows what a host function can call."""

    kernels: Mapping[tuple[str, ...], EmittedKernel] = field(
        default_factory=dict[tuple[str, ...], EmittedKernel]
    )
    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    launched: list[EmittedKernel] = field(default_factory=list[EmittedKernel])
    own_tags: set[Value] = field(default_factory=set[Value])


def emit_host(
    op: Operation,
    header: Header,
    kernels: Mapping[tuple[str, ...], EmittedKernel],
    functions: Mapping[str, str],
    constants: Mapping[str, str],
) -> tuple[str, tuple[EmittedKernel, ...]]:
    """The text of a host function and the kernels it launches.

    ``functions`` and ``constants`` map the symbols of host functions and of globals to
    their names in the host program.
    """
    function = Function(op)
    names = Names()
    names.reserve(PLAIN_NAMES)
    names.reserve(functions.values())
    e = HostEmitter(HOST, HANDLERS, names, header)
    e.kernels, e.functions, e.constants = kernels, functions, constants
    e.begin(function.blocks)
    e.own_tags = _tags(e, function)
    arguments = [names.fresh(value.name, "arg") for value in function.arguments]
    with e.writer.block(
        f"def {functions[function.name]}({', '.join(['rt', *arguments])}):"
    ):
        for name, value in zip(arguments, function.arguments, strict=True):
            _declare(e, op, name, value)
        emit_blocks(e, function.blocks)
    return e.writer.text, tuple(dict.fromkeys(e.launched))


def _declare(e: HostEmitter, op: Operation, name: str, value: Value) -> None:
    """Arguments arrive as buffers and Python numbers; numbers get their width here."""
    e.rename(value, name)
    if not isinstance(value.type, MemRefType) and not is_index(value.type):
        e.writer.line(f"{name} = {e.constructor(op, value)}({name})")


def _tags(e: HostEmitter, function: Function) -> set[Value]:
    """Memrefs that transfers here or in a launched kernel use as tags."""
    operations = [op for block in function.blocks for op in block.operations]
    tags = set(transfers.tags_in(operations))
    for root in operations:
        for op in root.walk():
            kernel = _kernel_of(e, op)
            if kernel is not None:
                passed = _launch_arguments(op)
                tags.update(passed[i] for i in kernel.tag_arguments if i < len(passed))
    return tags


# -- calls -----------------------------------------------------------------------------


def _kernel_of(e: HostEmitter, op: Operation) -> EmittedKernel | None:
    if op.name == "gpu.launch_func":
        return e.kernels.get(gpu.LaunchFunc(op).kernel)
    return e.kernels.get((Call(op).callee,)) if op.name == "func.call" else None


def _launch_arguments(op: Operation) -> Sequence[Value]:
    return op.operands if op.name == "func.call" else gpu.LaunchFunc(op).arguments


def _argument(e: HostEmitter, value: Value, *, as_tag: bool) -> Text:
    text = e.text(value)
    return Text(f"rt.tags({text})") if as_tag and value not in e.own_tags else text


def _launch(e: Emitter, op: Operation, grid: Text, block: Text) -> None:
    """``rt.launch``: the arguments, then the sizes and strides the kernel asks for."""
    assert isinstance(e, HostEmitter)
    kernel = _kernel_of(e, op)
    if kernel is None:
        raise e.broken(op, "no such kernel")
    e.launched.append(kernel)
    values = _launch_arguments(op)
    tags = kernel.tag_arguments
    texts = [_argument(e, v, as_tag=i in tags) for i, v in enumerate(values)]
    texts += [
        call(f"rt.{x.what}", e.text(values[x.argument]), number(x.dimension))
        for x in kernel.extras
    ]
    name = literal(kernel.source.name)
    e.writer.line(str(call("rt.launch", name, grid, block, _tuple(texts))))


def _tuple(texts: Sequence[Text]) -> Text:
    inner = ", ".join(text.code for text in texts)
    return Text(f"({inner},)" if len(texts) == 1 else f"({inner})")


def launch_func(e: Emitter, op: Operation) -> None:
    """``gpu.launch_func``."""
    view = gpu.LaunchFunc(op)
    grid, block = (
        _tuple([e.text(v) for v in part]) for part in (view.grid, view.block)
    )
    _launch(e, op, grid, block)


def function_call(e: Emitter, op: Operation) -> None:
    """``func.call`` of a CPU kernel or of another host function."""
    assert isinstance(e, HostEmitter)
    if _kernel_of(e, op) is not None:
        _launch(e, op, Text("None"), Text("None"))
        return
    callee = Call(op).callee
    if callee not in e.functions:
        raise ExternalFunction(op.location, name=callee)
    text = call(e.functions[callee], "rt", *(e.text(v) for v in op.operands))
    if len(op.results) == 1:
        e.define(op.result, text)
        return
    targets = ", ".join(e.variable(result) for result in op.results)
    e.writer.line(f"{targets} = {text}" if targets else str(text))


def function_return(e: Emitter, op: Operation) -> None:
    """``func.return``."""
    values = ", ".join(e.text(value).code for value in op.operands)
    if values or not e.is_structured:
        e.writer.line(f"return {values}".rstrip())


# -- buffers ---------------------------------------------------------------------------


def allocate(e: Emitter, op: Operation) -> None:
    """``memref.alloc`` and ``memref.alloca``."""
    assert isinstance(e, HostEmitter)
    ty = memref_type(op, op.result, e)
    kind = "tag" if op.result in e.own_tags else stored_dtype(ty, op, "host")
    dynamic = iter(memref.Alloc(op).dynamic_sizes)
    sizes = [e.index(next(dynamic)) if n is None else Const(n) for n in ty.shape]
    if ty.layout is None:
        e.define(op.result, call("rt.alloc", _shape(e, sizes), literal(kind)))
        return
    strides = strides_of(ty, sizes, _no_parameter(e, op), op.location)
    total: AffineExpr = Const(1)
    for size, stride in zip(sizes, strides, strict=True):
        total = total + (size - 1) * stride
    whole = call("rt.alloc", _shape(e, [total]), literal(kind))
    shape, steps = _shape(e, sizes), _shape(e, strides)
    e.define(op.result, call("rt.view", whole, "0", shape, steps))


def _no_parameter(e: Emitter, op: Operation):  # noqa: ANN202
    def unknown(what: str, dimension: int) -> AffineExpr:
        raise e.refusal(op, f"Give the allocation a static {what} {dimension}")

    return unknown


def _shape(e: Emitter, sizes: Sequence[AffineExpr]) -> Text:
    return _tuple([e.affine(size) for size in sizes])


def deallocate(e: Emitter, op: Operation) -> None:
    """``memref.dealloc``."""
    e.writer.line(str(call("rt.dealloc", e.text(op.operands[0]))))


def dimension(e: Emitter, op: Operation) -> None:
    """``memref.dim``."""
    source, position = op.operands
    index = e.index(position)
    shape = source.type.shape if isinstance(source.type, MemRefType) else ()
    if isinstance(index, Const) and 0 <= index.value < len(shape):
        extent = shape[index.value]
        if extent is not None:
            e.indices[op.result] = Const(extent)
            return
    e.define(op.result, call("rt.dim", e.text(source), e.affine(index)))


def load(e: Emitter, op: Operation) -> None:
    """``memref.load`` and ``affine.load`` of one element."""
    text = call("rt.load", e.text(op.operands[0]), _indices(e, op, 1))
    function = "int" if is_index(op.result.type) else e.constructor(op, op.result)
    e.define(op.result, call(function, text))


def store(e: Emitter, op: Operation) -> None:
    """``memref.store`` and ``affine.store`` of one element."""
    value, target = (e.text(v) for v in op.operands[:2])
    e.writer.line(str(call("rt.store", target, _indices(e, op, 2), value)))


def _indices(e: Emitter, op: Operation, first: int) -> Text:
    operands = op.operands[first:]
    if isinstance(op.attributes.get("map"), AffineMapAttr):
        return _shape(e, e.applied(affine.map_of(op), operands))
    return _shape(e, [e.index(value) for value in operands])


def copy(e: Emitter, op: Operation) -> None:
    """``memref.copy``."""
    e.writer.line(str(call("rt.copy", *(e.text(v) for v in op.operands))))


def constant(e: Emitter, op: Operation) -> None:
    """``memref.get_global``."""
    name = op.attributes.get("name")
    symbol = name.path[-1] if isinstance(name, SymbolRefAttr) else ""
    assert isinstance(e, HostEmitter)
    if symbol not in e.constants:
        raise e.broken(op, "no such global")
    e.define(op.result, call("rt.constant", literal(e.constants[symbol])))


# -- views -----------------------------------------------------------------------------


def cast(e: Emitter, op: Operation) -> None:
    """``memref.cast``: a check of extents at run time."""
    ty = memref_type(op, op.result, e)
    shape = _tuple([Text("None") if n is None else number(n) for n in ty.shape])
    e.define(op.result, call("rt.cast", e.text(op.operands[0]), shape))


def same(e: Emitter, op: Operation) -> None:
    """Views that change nothing."""
    e.define(op.result, e.text(op.operands[0]))


def view(e: Emitter, op: Operation) -> None:
    """``memref.subview``: offset and strides relative to the source's own strides."""
    part = memref.Slice(op)
    source = e.text(part.source)
    steps = [_mixed(e, entry) for entry in part.strides]
    sizes = [_mixed(e, entry) for entry in part.sizes]
    own = _strides(e, op, part.source)
    offset: AffineExpr = Const(0)
    for start, stride in zip(part.offsets, own, strict=True):
        offset = offset + _mixed(e, start) * stride
    strides = [step * stride for step, stride in zip(steps, own, strict=True)]
    kept = kept_dimensions(sizes, memref_type(op, op.result, e))
    shape = _shape(e, [sizes[d] for d in kept])
    text = call(
        "rt.view",
        source,
        e.affine(offset),
        shape,
        _shape(e, [strides[d] for d in kept]),
    )
    e.define(op.result, text)


def _mixed(e: Emitter, entry: memref.Mixed) -> AffineExpr:
    return Const(entry) if isinstance(entry, int) else e.index(entry)


def _strides(e: Emitter, op: Operation, value: Value) -> tuple[AffineExpr, ...]:
    """Strides of a buffer; unknown ones are asked of the runtime."""
    ty = memref_type(op, value, e)

    def unknown(what: str, position: int) -> AffineExpr:
        name = e.names.fresh(f"{e.text(value)}_{what}{position}")
        e.writer.line(f"{name} = rt.{what}({e.text(value)}, {position})")
        return e.atoms.add(name)

    needed = ty.layout is None
    sizes = sizes_of((1, *ty.shape[1:]) if needed and ty.shape else ty.shape, unknown)
    return strides_of(ty, sizes, unknown, op.location)


def reinterpret(e: Emitter, op: Operation) -> None:
    """``memref.reinterpret_cast``."""
    part = memref.Slice(op)
    offset = _mixed(e, part.offsets[0])
    sizes, strides = (
        _shape(e, [_mixed(e, entry) for entry in entries])
        for entries in (part.sizes, part.strides)
    )
    source = e.text(part.source)
    e.define(op.result, call("rt.view", source, e.affine(offset), sizes, strides))


def reshape(e: Emitter, op: Operation) -> None:
    """``memref.collapse_shape`` / ``expand_shape`` with static extents."""
    ty = memref_type(op, op.result, e)
    if None in ty.shape:
        raise e.refusal(op, "Give the reshaped memref static extents")
    sizes = sizes_of(ty.shape, _no_parameter(e, op))
    strides = strides_of(ty, sizes, _no_parameter(e, op), op.location)
    source = e.text(op.operands[0])
    text = call("rt.view", source, "0", _shape(e, sizes), _shape(e, strides))
    e.define(op.result, text)


# -- transfers -------------------------------------------------------------------------


def dma_start(e: Emitter, op: Operation) -> None:
    """``memref.dma_start`` between host-visible buffers."""
    part = memref.DmaStart(op)
    stride = [e.text(v) for v in part.stride] or [Text("None")] * 2
    ends = [
        piece
        for end in (part.source, part.target)
        for piece in (e.text(end[0]), _shape(e, [e.index(v) for v in end[1:]]))
    ]
    tag = [e.text(part.tag[0]), _shape(e, [e.index(v) for v in part.tag[1:]])]
    count = e.text(part.num_elements)
    e.writer.line(str(call("rt.dma_start", *ends, count, *tag, *stride)))


def dma_wait(e: Emitter, op: Operation) -> None:
    """``memref.dma_wait``."""
    part = memref.DmaWait(op)
    where = _shape(e, [e.index(v) for v in part.tag[1:]])
    count = e.text(part.num_elements)
    e.writer.line(str(call("rt.dma_wait", e.text(part.tag[0]), where, count)))


HANDLERS: Handlers = (
    scalars.HANDLERS
    | affine_loops.HANDLERS
    | scf_loops.HANDLERS
    | cfg.HANDLERS
    | {
        "func.call": function_call,
        "func.return": function_return,
        "gpu.launch_func": launch_func,
        "memref.alloc": allocate,
        "memref.alloca": allocate,
        "memref.dealloc": deallocate,
        "memref.dim": dimension,
        "memref.load": load,
        "memref.store": store,
        "affine.load": load,
        "affine.store": store,
        "memref.copy": copy,
        "memref.get_global": constant,
        "memref.cast": cast,
        "memref.memory_space_cast": same,
        "memref.assume_alignment": same,
        "memref.subview": view,
        "memref.reinterpret_cast": reinterpret,
        "memref.collapse_shape": reshape,
        "memref.expand_shape": reshape,
        "memref.prefetch": nothing,
        "affine.prefetch": nothing,
        "memref.dma_start": dma_start,
        "memref.dma_wait": dma_wait,
    }
)
