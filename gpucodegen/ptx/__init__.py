"""PTX parsed, translated, executed and counted by NumPy: a GPU without one.

A `Module` is loaded from text as a driver loads it; its kernels run on a `Memory`, all
threads of many blocks at once, and every access is checked: bounds, alignment, races
between barriers, barriers that some threads never reach, shared memory that was never
written, copies in flight.  What goes wrong is a `Fault` with its place.  This package
knows neither MLIR nor Numba: it needs the standard library and NumPy.

    text -> parsing -> translation -> execution (with numerics) -> counters

Two accesses by different threads race unless something orders them: a barrier of the
block, a numbered one, ``bar.warp.sync``, the phase of an mbarrier, a chain of releases
and acquires.  Shuffles and votes order no memory, as on a GPU.  The schedule is one of
many, so a race is found where the accesses are not ordered in it.

What is modelled coarsely: an arrival from another block of a cluster makes known all
that this block did before; bounds of single arrays in shared memory are unknown.  What
is not there, and refused with its line: im2col and reductions by bulk copies, sparse
mma, scaled f4 and f6 products, ``tcgen05``, textures, video instructions, calls that
are external, indirect or recursive.

- `types`: types, and NumPy's that carry them
- `faults`: what ends a kernel
- `memory`: global memory
- `tensor_maps`: descriptors of tensor copies
- `parsing`: text to instructions
- `numerics`: arithmetic
- `control`: basic blocks as a graph: loops, where ways meet
- `translation`: instructions to Python
- `analysis`: what the text says without running it
- `execution`: lanes at work
- `module`: a module, loaded and launched
"""

from __future__ import annotations

from gpucodegen.ptx.entries import Entry, Parameter
from gpucodegen.ptx.execution.lanes import STEPS
from gpucodegen.ptx.faults import Fault, OutOfMemory, SourceLocation, Unsupported
from gpucodegen.ptx.memory import Memory, TensorMap
from gpucodegen.ptx.module import Module, Run

__all__ = [
    "STEPS",
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
