"""Kernel-level MLIR -> Python source, as tables: one low-level operation, one line.

In: a module after outlining (:mod:`gpucodegen.emit.program` says what it holds).
The text of kernels is that of an :class:`Emission`, `CPU`, `CUDA` or another.
Out: an :class:`EmittedProgram`: the host program and the source of every kernel.

- `program`: a module with kernels outlined to its sources
- `text`: expressions, names and lines of Python
- `tables`: the line of each operation
- `kernel`: one kernel function
- `host`: one host function
"""

from __future__ import annotations

from gpucodegen.emit.emissions import CPU, CUDA, Emission
from gpucodegen.emit.kernel import KernelParam, KernelSource
from gpucodegen.emit.program import (
    EmittedProgram,
    EntryPoint,
    GlobalConstant,
    emit_program,
)

__all__ = [
    "CPU",
    "CUDA",
    "Emission",
    "EmittedProgram",
    "EntryPoint",
    "GlobalConstant",
    "KernelParam",
    "KernelSource",
    "emit_program",
]
