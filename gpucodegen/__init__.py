"""MLIR text in, proven-legal tiled kernels out, on a GPU or on the CPU.

>>> import gpucodegen as gcg
>>> program = gcg.compile('''
... func.func @scale(%x: memref<?xf32>, %a: f32) {
...   %c0 = arith.constant 0 : index
...   %n = memref.dim %x, %c0 : memref<?xf32>
...   affine.for %i = 0 to %n {
...     %v = affine.load %x[%i] : memref<?xf32>
...     %w = arith.mulf %v, %a : f32
...     affine.store %w, %x[%i] : memref<?xf32>
...   }
...   return
... }''', target="cpu")
>>> import numpy as np
>>> x = np.arange(4, dtype=np.float32)
>>> program.scale(x, 2.0)
>>> x
array([0., 2., 4., 6.], dtype=float32)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpucodegen.debugging.version import __version__

if TYPE_CHECKING:
    from gpucodegen import kernels, schedule
    from gpucodegen.analysis import analyze
    from gpucodegen.api import check, compile, parse  # noqa: A004 - the public name
    from gpucodegen.debugging.levels import debug
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.errors import (
        CompileError,
        Error,
        LaunchError,
        ParseError,
        VerifyError,
    )
    from gpucodegen.interop import dask, jax, torch
    from gpucodegen.program import Program
    from gpucodegen.python.build import build
    from gpucodegen.python.function import jit
    from gpucodegen.report.explanation import explain
    from gpucodegen.tuning.tune import tune

__all__ = [
    "CompileError",
    "Error",
    "LaunchError",
    "Module",
    "ParseError",
    "Program",
    "VerifyError",
    "__version__",
    "analyze",
    "build",
    "check",
    "compile",
    "dask",
    "debug",
    "explain",
    "jax",
    "jit",
    "kernels",
    "parse",
    "schedule",
    "torch",
    "tune",
]

_HOMES: dict[str, str] = {
    "CompileError": "errors",
    "Error": "errors",
    "LaunchError": "errors",
    "Module": "dialects.builtin",
    "ParseError": "errors",
    "Program": "program",
    "VerifyError": "errors",
    "analyze": "analysis",
    "build": "python.build",
    "check": "api",
    "compile": "api",
    "debug": "debugging.levels",
    "explain": "report.explanation",
    "dask": "interop.dask",
    "jax": "interop.jax",
    "jit": "python.function",
    "kernels": "kernels",
    "parse": "api",
    "schedule": "schedule",
    "torch": "interop.torch",
    "tune": "tuning.tune",
}
_MODULES = {"dask", "jax", "kernels", "schedule", "torch"}
"""Submodules that are imported on first use, so that importing the package is quick."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    >>> __getattr__("parse").__module__
    'gpucodegen.api'
    """
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    if name in _MODULES:
        return import_module(f"{__name__}.{home}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
