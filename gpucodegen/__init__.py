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

if TYPE_CHECKING:
    from gpucodegen import kernels
    from gpucodegen.analysis import analyze
    from gpucodegen.api import compile, parse  # noqa: A004 - the public name
    from gpucodegen.checking import check
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.errors import (
        CompileError,
        Error,
        LaunchError,
        ParseError,
        VerifyError,
    )
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
    "analyze",
    "build",
    "check",
    "compile",
    "explain",
    "jit",
    "kernels",
    "parse",
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
    "check": "checking",
    "compile": "api",
    "explain": "report.explanation",
    "jit": "python.function",
    "kernels": "",
    "parse": "api",
    "tune": "tuning.tune",
}
"""Module of each public name: imported when first used, so that import is quick."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    if not home:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names."""
    return sorted(__all__)
