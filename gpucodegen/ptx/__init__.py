"""PTX parsed, translated, executed and counted by NumPy: a GPU without one.

A `Module` is loaded from text as a driver loads it; its kernels run on a `Memory`, all
threads of many blocks at once, and every access is checked: bounds, alignment, races
between barriers, barriers that some threads never reach, shared memory that was never
written, copies in flight.  What goes wrong is a `Fault` with its place.  This package
knows neither MLIR nor Numba: it needs the standard library and NumPy.

    text -> parsing -> translation -> execution (with numerics) -> counters

What is not modelled: orders finer than a block's barrier (``bar.warp.sync``, ordinary
stores that an mbarrier orders, fences and atomics between blocks), so kernels that rely
on them may be told of a race; bounds of single arrays in shared memory.  What is not
there, and refused with its line: named barriers, clusters and multicast, stores of
tensors and im2col, wgmma with A in registers or transposed operands, sparse mma,
8-bit floats, textures, calls that are external, indirect or recursive.

- `types`: types, and NumPy's that carry them
- `faults`: what ends a kernel
- `memory`: global memory
- `tensor_maps`: descriptors of tensor copies
- `parsing`: text to instructions
- `numerics`: arithmetic
- `translation`: instructions to Python
- `execution`: lanes at work
- `module`: a module, loaded and launched
"""

from __future__ import annotations

from gpucodegen.ptx.faults import Fault, OutOfMemory, SourceLocation, Unsupported
from gpucodegen.ptx.memory import Memory
from gpucodegen.ptx.module import Module, Run
from gpucodegen.ptx.parsing.entries import Entry, Parameter
from gpucodegen.ptx.tensor_maps import TensorMap

__all__ = [
    "Entry",
    "Fault",
    "Memory",
    "Module",
    "OutOfMemory",
    "Parameter",
    "Run",
    "SourceLocation",
    "TensorMap",
    "Unsupported",
]
