"""Emitted programs made callable: kernels behind a host API, host text as functions."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from gpucodegen.runtime.host import make_host
from gpucodegen.runtime.spec import KernelSpec, Param


@dataclass(frozen=True, slots=True)
class Loaded:
    """Host functions by Python name, and the runtime they take as first argument."""

    functions: dict[str, Callable[..., Any]]
    runtime: Any


def load_program(emitted: Any, target: str) -> Loaded:
    """Load what `gpucodegen.emit.emit_program` made for "cpu", "cuda" or "sim"."""
    kernels = [_spec(kernel) for kernel in emitted.kernels]
    runtime = make_host(target, kernels, _constants(emitted))
    return Loaded(_execute(emitted.host_source), runtime)


def _spec(kernel: Any) -> KernelSpec:
    values = {field.name: getattr(kernel, field.name) for field in fields(KernelSpec)}
    values["params"] = tuple(
        Param(**{field.name: getattr(param, field.name) for field in fields(Param)})
        for param in kernel.params
    )
    return KernelSpec(**values)


def _execute(text: str) -> dict[str, Callable[..., Any]]:
    """Functions of a host text; tracebacks show its lines."""
    filename = f"<host {sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), namespace)  # noqa: S102 - our own text
    return {name: value for name, value in namespace.items() if callable(value)}


def _constants(emitted: Any) -> dict[str, Any]:
    from gpucodegen.runtime.buffers import constant_array

    return {key: constant_array(*value) for key, value in emitted.constants.items()}
