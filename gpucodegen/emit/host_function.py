"""Emits one host function as Python that calls the runtime.

Allocations, launches and calls become ``rt.*`` calls; the scalar code, loops and
branches around them stay Python.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gpucodegen.dialects import gpu
from gpucodegen.dialects.func import Call, Function, named_function
from gpucodegen.emit import host_calls, host_memory
from gpucodegen.emit.context import Emitter, Handlers
from gpucodegen.emit.copy_plan import PlannedTransfer
from gpucodegen.emit.expressions import Text, call, number
from gpucodegen.emit.host_calls import (
    HostEmitter,
    Launched,
    Offered,
    OneLaunch,
    nothing_offered,
    tuple_text,
)
from gpucodegen.emit.kernel import PLAIN_NAMES, EmittedKernel
from gpucodegen.emit.source import Header, PythonNames, literal
from gpucodegen.emit.spelling import HOST, is_index
from gpucodegen.emit.tables import affine, control, memory, scalars, transfers
from gpucodegen.emit.tables.control import emit_blocks
from gpucodegen.errors import ExternalFunction
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType

ROUNDED_BY_KERNELS = "f32 f64 i8 i16 i32 i64 si8 si16 si32 si64 ui8 ui16 ui32".split()
"""Types that CPU kernels convert from a Python number as its constructor does.

They take 64 bits as a signed number, so a large ui64 is converted by its constructor.
"""


class EmittedHost(NamedTuple):
    """A host function: its text, the kernels that it launches, its own transfers.

    ``launch``: the launch of its only kernel, if it does nothing else.
    """

    text: str
    launched: tuple[EmittedKernel, ...]
    own_transfers: tuple[PlannedTransfer, ...]
    launch: OneLaunch | None

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(kernel.source.name for kernel in self.launched)

    @property
    def transfers(self) -> tuple[PlannedTransfer, ...]:
        """Transfers of the function itself, then of its kernels in launch order."""
        inside = (planned for kernel in self.launched for planned in kernel.transfers)
        return (*self.own_transfers, *inside)


def emit_host(
    op: Operation,
    header: Header,
    kernels: Mapping[tuple[str, ...], EmittedKernel],
    functions: Mapping[str, str],
    constants: Mapping[str, str],
    handled: Collection[str] = (),
    offered: Offered = nothing_offered,
) -> EmittedHost:
    """The text of a host function and the kernels it launches.

    ``functions`` and ``constants`` map the symbols of host functions and of globals to
    their names in the host program; ``handled`` names operations that the caller runs,
    and ``offered`` tells those that the runtime does.
    """
    function = Function(op)
    names = PythonNames()
    names.reserve(PLAIN_NAMES)
    names.reserve(functions.values())
    handlers = {**HANDLERS, **dict.fromkeys(handled, host_calls.handled)}
    e = HostEmitter(HOST, handlers, names, header)
    e.kernels, e.functions, e.constants = kernels, functions, constants
    e.offered = offered
    e.begin(function.blocks)
    e.own_tags = _tags(e, function)
    arguments = [names.fresh(value.name, "arg") for value in function.arguments]
    used_here = _used_here(e, function)
    with e.writer.block(
        f"def {functions[function.name]}({', '.join(['rt', *arguments])}):"
    ):
        for name, value in zip(arguments, function.arguments, strict=True):
            _declare(e, op, name, value, used_here=value in used_here)
        emit_blocks(e, function.blocks)
    launched = tuple({k.source.name: k for k in e.launched}.values())
    launch = e.printed.one_launch(arguments, len(e.writer.lines) - 1)
    return EmittedHost(e.writer.text, launched, tuple(e.transfers), launch)


def _declare(
    e: HostEmitter, op: Operation, name: str, value: Value, *, used_here: bool
) -> None:
    """Bind arguments: buffers and Python numbers, converted to their types."""
    e.rename(value, name)
    is_buffer = isinstance(value.type, MemRefType | UnrankedMemRefType)
    if is_buffer or is_index(value.type):
        return
    if used_here or str(value.type) not in ROUNDED_BY_KERNELS:
        e.writer.line(f"{name} = {e.constructor(op, value)}({name})")


def _used_here(e: HostEmitter, function: Function) -> set[Value]:
    """Arguments that the host uses itself besides passing them to a kernel."""
    used = set[Value]()
    for root in function.operation.nested:
        for op in root.walk():
            kernel = _kernel_of(e, op)
            if kernel is None or not kernel.spelling.converts_arguments:
                used.update(op.operands)
    return used


def _tags(e: HostEmitter, function: Function) -> set[Value]:
    """Memrefs that transfers here or in a launched kernel use as tags."""
    operations = function.operation.nested
    every = [op for root in operations for op in root.walk()]
    tags = transfers.tags_in(operations)
    for op in every:
        kernel = _kernel_of(e, op)
        if kernel is not None:
            passed = _launch_arguments(op)
            own = (passed[i] for i in kernel.tag_arguments if i < len(passed))
            tags.update(dict.fromkeys(own, "f32"))
    return set(transfers.seen_through(tags, every))


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
    """``rt.launch``: arguments, then the sizes and strides that the kernel takes."""
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
    name, reports = kernel.source.name, kernel.reports
    status = e.names.fresh("status")
    if reports.words:
        e.writer.line(f"{status} = rt.status({reports.words})")
        texts.append(Text(status))
    given = tuple_text(texts)
    e.writer.line(str(call("rt.launch", literal(name), grid, block, given)))
    if reports.words:
        e.writer.line(str(call("rt.check", status, repr(tuple(reports.told)))))
    codes, sizes = tuple(text.code for text in texts), (grid.code, block.code)
    e.printed.launches.append(Launched(name, codes, status, reports, *sizes))


def launch_func(e: Emitter, op: Operation) -> None:
    view = gpu.LaunchFunc(op)
    grid, block = (
        tuple_text([e.text(v) for v in part]) for part in (view.grid, view.block)
    )
    _launch(e, op, grid, block)


def function_call(e: Emitter, op: Operation) -> None:
    """``func.call`` of a CPU kernel, another host function or a handler."""
    assert isinstance(e, HostEmitter)
    if _kernel_of(e, op) is not None:
        _launch(e, op, Text("None"), Text("None"))
        return
    name = named_function(op)
    if name not in e.functions and host_calls.is_run_outside(e, name):
        host_calls.run_outside(e, op, name, {})
        return
    _call(e, op, _host_function(e, op), op.operands)


def _host_function(e: HostEmitter, op: Operation) -> str:
    """The Python name of the function that a call or a constant names."""
    name = named_function(op)
    if name not in e.functions:
        raise ExternalFunction(op.location, name=name)
    return e.functions[name]


def function_constant(e: Emitter, op: Operation) -> None:
    assert isinstance(e, HostEmitter)
    e.define(op.result, Text(_host_function(e, op)))


def indirect_call(e: Emitter, op: Operation) -> None:
    """``func.call_indirect`` of a host function."""
    callee, *operands = op.operands
    _call(e, op, e.text(callee).code, operands)


def _call(e: Emitter, op: Operation, function: str, operands: Sequence[Value]) -> None:
    text = call(function, "rt", *map(e.text, operands))
    if len(op.results) == 1:
        e.define(op.result, text)
        return
    targets = ", ".join(e.variable(result) for result in op.results)
    e.writer.line(f"{targets} = {text}" if targets else str(text))


def function_return(e: Emitter, op: Operation) -> None:
    assert isinstance(e, HostEmitter)
    values = e.printed.returned = tuple(e.text(value).code for value in op.operands)
    if values or not e.is_structured:
        e.writer.line(f"return {', '.join(values)}".rstrip())


HANDLERS: Handlers = (
    scalars.SCALAR_HANDLERS
    | scalars.CAST_HANDLERS
    | scalars.COMPLEX_HANDLERS
    | affine.INDEX_HANDLERS
    | affine.HANDLERS
    | control.SCF_HANDLERS
    | control.CFG_HANDLERS
    | host_memory.MEMORY_HANDLERS
    | host_memory.VIEW_HANDLERS
    | memory.HOST_HANDLERS
    | {
        "func.call": function_call,
        "func.call_indirect": indirect_call,
        "func.constant": function_constant,
        "func.return": function_return,
        "gpu.launch_func": launch_func,
        "gcg.handle": host_calls.handle,
    }
)
