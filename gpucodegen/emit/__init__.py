"""Code generation: MLIR with outlined kernels to Python source.

Input: a module after outlining (see :mod:`gpucodegen.emit.program`). Output: an
:class:`EmittedProgram` with the host program and the source of every kernel. An
:class:`Emission` (`CPU`, `CUDA` or another) determines the text of kernels. Each
low-level operation is one row of a table and becomes one line of source.
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
