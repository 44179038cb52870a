"""Emits a module with outlined kernels as a host program and kernel sources.

``func.func`` with ``gcg.kernel`` and every ``gpu.func`` become kernels; every other
``func.func`` with a body becomes a Python function of the host module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from gpucodegen.dialects import gpu
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.shared.effects import declared
from gpucodegen.emit.context import numbers_in
from gpucodegen.emit.copy_plan import PlannedTransfer, with_sources, written_in
from gpucodegen.emit.emissions import Emission
from gpucodegen.emit.host_calls import Offered, is_buffer, nothing_offered
from gpucodegen.emit.host_function import EmittedHost, emit_host
from gpucodegen.emit.kernel import (
    EmittedKernel,
    KernelSource,
    emit_kernel,
)
from gpucodegen.emit.source import Header, PythonNames
from gpucodegen.emit.spelling import HOST, dtype
from gpucodegen.errors import CompileError
from gpucodegen.ir.attributes import DenseElementsAttr, TypeAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type
from gpucodegen.records import dataclass

OVERWRITTEN = "gcg.overwritten"
"""Positions of the arguments of a function whose old contents are not needed."""

KERNEL = "gcg.kernel"
"""Marks a ``func.func`` as a CPU kernel."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A callable function of the host program.

    ``written`` tells for each argument whether the function may write to it, and
    ``overwritten`` whether its old contents are not needed.
    """

    symbol: str
    python_name: str
    argument_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    is_private: bool
    written: tuple[bool, ...]
    overwritten: tuple[bool, ...]


class GlobalConstant(NamedTuple):
    """A ``memref.global``.

    ``values`` is None when it starts uninitialised, and holds one number for a splat.
    """

    shape: tuple[int, ...]
    dtype: str
    values: tuple[complex, ...] | None


@dataclass(frozen=True, slots=True)
class EmittedProgram:
    """Everything the runtime needs to execute a module."""

    host_source: str
    kernels: tuple[KernelSource, ...]
    entries: Mapping[str, EntryPoint]
    constants: Mapping[str, GlobalConstant]
    functions: Mapping[str, EmittedHost]

    def source_of(self, symbol: str) -> str:
        """The host function of a symbol, then the kernels it launches."""
        host = self.functions[symbol]
        kernels = [k.source for k in self.kernels if k.name in host.kernels]
        return "\n\n".join([host.text + "\n", *kernels])

    def transfers_of(self, symbol: str) -> tuple[PlannedTransfer, ...]:
        """Plans of all transfers of a function and of its kernels."""
        return self.functions[symbol].transfers


def emit_program(
    module: Module,
    emission: Emission,
    handled: Collection[str] = (),
    offered: Offered = nothing_offered,
) -> EmittedProgram:
    """Generate the Python source of a module, with kernels as an emission prints them.

    ``handled`` names operations and functions that the caller of the program runs, and
    ``offered`` tells those that the runtime does.
    """
    kernels = _Kernels(emission)
    kernels.collect(module.operations)
    hosts = {
        name: op
        for name, op in module.functions.items()
        if KERNEL not in op.attributes and not Function(op).is_external
    }
    names = PythonNames()
    python_names = {name: names.fresh(name, "f") for name in hosts}
    constants = _constants(module.operations)
    keys = {name: f"g{n}" for n, name in enumerate(constants)}
    header = Header(HOST.face, names)
    needed = _reachable(hosts)
    texts: dict[str, EmittedHost] = {}
    for name, op in hosts.items():
        try:
            texts[name] = emit_host(
                op, header, kernels.emitted, python_names, keys, handled, offered
            )
        except CompileError:
            if name in needed:
                raise
            continue
    stores = _Stores.of(
        module, kernels.emitted, lambda name: offered(name) and name not in handled
    )
    return EmittedProgram(
        _join(header, [host.text for host in texts.values()]),
        tuple(kernel.source for kernel in kernels.emitted.values()),
        _entries(hosts, python_names, texts, stores),
        {keys[name]: constant for name, constant in constants.items()},
        texts,
    )


def _join(header: Header, texts: Iterable[str]) -> str:
    head = "\n".join(header.lines())
    return "\n\n\n".join(filter(None, [head, *texts])) + "\n"


class _Kernels:
    """The kernels of a module by symbol path; their names are unique."""

    def __init__(self, emission: Emission) -> None:
        self.emission = emission
        self.names = PythonNames()
        self.emitted: dict[tuple[str, ...], EmittedKernel] = {}

    def collect(self, operations: Iterable[Operation]) -> None:
        """Emit every kernel among top-level operations."""
        for op in operations:
            if op.name == "func.func" and KERNEL in op.attributes:
                self._add((symbol_name(op),), op)
            elif op.name == "gpu.module":
                for name, kernel in gpu.Module(op).kernels.items():
                    self._add((symbol_name(op), name), kernel)

    def _add(self, path: tuple[str, ...], op: Operation) -> None:
        name = self.names.fresh(path[-1], "kernel")
        self.emitted[path] = emit_kernel(op, name, self.emission)


# -- entry points ----------------------------------------------------------------------


def _entries(
    hosts: Mapping[str, Operation],
    python_names: Mapping[str, str],
    emitted: Mapping[str, object],
    stores: _Stores,
) -> dict[str, EntryPoint]:
    entries: dict[str, EntryPoint] = {}
    for name, op in hosts.items():
        if name not in emitted:
            continue
        function = Function(op)
        written = _written(function, stores)
        entries[name] = EntryPoint(
            name,
            python_names[name],
            function.type.inputs,
            function.type.results,
            function.is_private,
            tuple(value in written for value in function.arguments),
            _overwritten(function),
        )
    return entries


def _written(function: Function, stores: _Stores) -> set[Value]:
    """Arguments that a host function may write to, directly or through its calls."""
    operations = function.operation.nested
    written = written_in(operations)
    for root in operations:
        for op in root.walk():
            written.update(stores.by(op))
    return with_sources(operations, written)


def _overwritten(function: Function) -> tuple[bool, ...]:
    positions = function.operation.numbers(OVERWRITTEN)
    return tuple(n in positions for n in range(len(function.arguments)))


_HARMLESS = frozenset({"affine.load", "affine.store", "func.return"})


@dataclass(frozen=True, slots=True)
class _Stores:
    """Arguments that calls may write: of kernels by text, of functions by effects."""

    kernels: Mapping[tuple[str, ...], EmittedKernel]
    stated: Mapping[str, frozenset[int]]
    defined: frozenset[str]
    only_reads: Offered
    """Whether the external function of a name writes to no buffer."""

    @staticmethod
    def of(
        module: Module,
        kernels: Mapping[tuple[str, ...], EmittedKernel],
        only_reads: Offered,
    ) -> _Stores:
        """Those of a module; ``stated`` holds the arguments that are written."""
        effects = ((name, declared(op)) for name, op in module.functions.items())
        stated = {
            name: frozenset(effect.argument for effect in found if effect.writes)
            for name, found in effects
            if found is not None
        }
        defined = frozenset(
            name
            for name, op in module.functions.items()
            if not Function(op).is_external
        )
        return _Stores(kernels, stated, defined, only_reads)

    def by(self, op: Operation) -> list[Value]:
        """Memref operands that a call, launch or carried value may write."""
        kernel = None
        arguments = op.used
        if op.name == "gpu.launch_func":
            launch = gpu.LaunchFunc(op)
            kernel, arguments = self.kernels.get(launch.kernel), launch.arguments
        elif op.name == "func.call":
            name = named_function(op)
            if name in self.stated:
                return [arguments[position] for position in self.stated[name]]
            kernel = self.kernels.get((name,))
            if name not in self.defined and self.only_reads(name):
                return []
        elif (
            (op.name == "gcg.handle" and self.only_reads(op.string("operation")))
            or op.dialect == "memref"
            or op.name in _HARMLESS
        ):
            return []
        if kernel is None:
            return [v for v in arguments if is_buffer(v.type)]
        params = kernel.source.params
        return [v for v, p in zip(arguments, params, strict=False) if p.writable]


def _reachable(hosts: Mapping[str, Operation]) -> set[str]:
    """Public functions, those without callers, and all functions that they call."""
    called = {named_function(inner) for op in hosts.values() for inner in op.walk()}
    work = [
        name
        for name, op in hosts.items()
        if not Function(op).is_private or name not in called
    ]
    found: set[str] = set()
    while work:
        name = work.pop()
        if name in found or name not in hosts:
            continue
        found.add(name)
        work += filter(None, map(named_function, hosts[name].walk()))
    return found


def _constants(operations: Iterable[Operation]) -> dict[str, GlobalConstant]:
    found: dict[str, GlobalConstant] = {}
    for op in operations:
        ty = op.attributes.get("type")
        if op.name != "memref.global" or not isinstance(ty, TypeAttr):
            continue
        assert isinstance(ty.type, MemRefType)
        kind = dtype(ty.type.element, op.location, "host")
        value = op.attributes.get("initial_value")
        is_dense = isinstance(value, DenseElementsAttr)
        numbers = numbers_in(value) if is_dense else None
        shape = tuple(extent or 0 for extent in ty.type.shape)
        found[symbol_name(op)] = GlobalConstant(shape, kind, numbers)
    return found
