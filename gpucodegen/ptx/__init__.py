"""PTX emulator: parses, translates, executes and counts kernels with NumPy.

A `Module` is loaded from text as a driver loads it; its kernels run on a `Memory`, all
threads of many blocks at once, and every access is checked: bounds, alignment, races
between barriers, barriers that some threads never reach, reads of unwritten shared
memory, copies in flight.  An error is a `Fault` with its place.  This package knows
neither MLIR nor Numba: it needs the standard library and NumPy.

    text -> parsing -> translation -> execution (with numerics) -> counters

Two accesses by different threads race unless something orders them: a barrier of the
block, a numbered one, ``bar.warp.sync``, the phase of an mbarrier, a chain of releases
and acquires.  Shuffles and votes order no memory, as on a GPU.  The emulator runs one
of many schedules, and finds a race if the accesses are unordered in it.

Coarse approximations: an arrival from another block of a cluster releases everything
that this block did before; bounds of single arrays in shared memory are unknown.  Not
supported, and refused with the line: im2col and reductions by bulk copies, sparse mma,
scaled f4 and f6 products, ``tcgen05``, textures, video instructions, calls that are
external, indirect or recursive.
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
