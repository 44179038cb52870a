"""Loads an emitted program: host functions bound to the runtime that they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.runtime.cpu import arithmetic
from gpucodegen.runtime.host import generated_code
from gpucodegen.runtime.host.engines import Engine
from gpucodegen.runtime.host.host import HostApi
from gpucodegen.runtime.host.spec import KernelSpec, Param


class Emitted(Protocol):
    """The output of the emitter for a module."""

    @property
    def host_source(self) -> str:
        """The module of host functions."""
        ...

    @property
    def kernels(self) -> Iterable[Any]:
        """Records with the fields of `KernelSpec`."""
        ...

    @property
    def constants(self) -> Mapping[str, Any]: ...


CONTRACTED = ("contract",)
"""Multiplications and additions may be fused, and nothing else changed."""


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """Host functions by their Python names; each takes ``runtime`` first."""

    functions: Mapping[str, Callable[..., Any]]
    runtime: HostApi
    kernels: tuple[KernelSpec, ...]


def load_program(
    emitted: Emitted,
    engine: Engine,
    handlers: Mapping[str, Callable[..., Any]] | None = None,
) -> LoadedProgram:
    """Loads a program for an engine; kernels compile on first use.

    ``handlers`` run operations that the program does not know.
    """
    module = generated_code.load(emitted.host_source)
    kernels = tuple(
        kernel if isinstance(kernel, KernelSpec) else kernel_spec(kernel)
        for kernel in emitted.kernels
    )
    functions = {
        name: _quiet(value) if arithmetic.__name__ in emitted.host_source else value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }
    runtime = HostApi(engine, kernels, emitted.constants, handlers)
    return LoadedProgram(functions, runtime, kernels)


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Suppresses warnings: overflow and NaN are values of the program's arithmetic."""

    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


def kernel_spec(
    kernel: Any,
    fastmath: tuple[str, ...] = CONTRACTED,
    threads: int = 0,
    arch: str = "",
) -> KernelSpec:
    """The compiler's input for an emitted kernel; ``fastmath``: LLVM flags.

    Parallel kernels on the CPU run on ``threads`` threads, 0 for as many as environment
    variables say; for one, they are compiled as sequential.
    """
    params = tuple(Param(p.name, p.kind, p.dtype, p.writable) for p in kernel.params)
    return KernelSpec(
        kernel.name,
        kernel.source,
        params,
        kernel.block,
        kernel.parallel and threads != 1,
        kernel.shared_bytes,
        kernel.resident,
        fastmath,
        threads,
        kernel.cooperative,
        kernel.dynamic_shared,
        kernel.specific,
        kernel.bulk,
        arch,
        kernel.index_bits,
        kernel.wide,
    )
