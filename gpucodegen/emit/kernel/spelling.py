"""What differs between the texts of kernels, as records of named abilities."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.emit.kernel.kinds import CONSTRUCTORS
from gpucodegen.emit.text.expressions import NARROW, PLAIN, Division

DECLARED_SHARED = 48 * 1024
"""Bytes of shared memory that kernels of blocks declare at most; launches give more."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Index arithmetic, loops and memory in the text of a kernel.

    ``name`` is that of the target in messages, ``face`` the module of the intrinsics.
    ``ready``: names that this has, if it makes all others on request.
    ``index`` is the type that index variables get, or nothing where Python's integers
    serve, and ``index_parameter`` the element type of index parameters;
    ``counted_by_while`` avoids ``range``, whose variable Numba makes 64 bits wide.
    ``wrapped`` are the integers whose arithmetic has to be cut back to their width:
    Numba computes with 64 bits, Python with as many as it takes.  ``overflowing`` are
    those of 64 bits, which wrap around in MLIR; Numba tells LLVM that its operators
    never leave them, so intrinsics take their place.  ``shares_offsets``: sums that
    offsets have in common become variables.

    ``in_blocks``: threads run in blocks, which share memory, copy it asynchronously and
    meet at barriers.  ``has_heap``: kernels allocate memory.  ``divides_loops``: a
    parallel loop is divided among threads.  ``takes_hints``: the compiler vectorises
    loops, and takes hints on loops and prefetches.  ``converts_arguments``: a kernel's
    entry rounds the numbers that it takes to the types of its parameters.
    """

    name: str
    face: str
    ready: frozenset[str] = frozenset()
    division: Division = PLAIN
    index: str = ""
    index_dtype: str = "i64"
    index_parameter: str = "index"
    index_operand: str = ""
    wrapped: frozenset[str] = frozenset({"i8", "i16", "i32", "i64"})
    overflowing: frozenset[str] = frozenset({"i64", "index"})
    counted_by_while: bool = False
    shares_offsets: bool = False
    in_blocks: bool = False
    has_heap: bool = False
    divides_loops: bool = False
    takes_hints: bool = False
    converts_arguments: bool = False


CPU = Spelling(
    "cpu",
    "gpucodegen.intrinsics.cpu",
    wrapped=frozenset({"i8", "i16", "i32"}),
    shares_offsets=True,
    has_heap=True,
    divides_loops=True,
    takes_hints=True,
    converts_arguments=True,
)
CUDA = Spelling(
    "cuda",
    "gpucodegen.intrinsics.cuda",
    division=NARROW,
    index="int32",
    index_dtype="i32",
    overflowing=frozenset({"i64"}),
    counted_by_while=True,
    in_blocks=True,
)
"""Kernels count with 32 bits; a launch with larger buffers takes the wide kernel."""
WIDE_CUDA = Spelling(
    "cuda",
    "gpucodegen.intrinsics.cuda",
    index="int64",
    index_parameter="i64",
    counted_by_while=True,
    in_blocks=True,
)
"""Indices have 64 bits where they are data, or where 32 bits do not reach."""
HOST = Spelling(
    "host",
    "gpucodegen.runtime.cpu.arithmetic",
    ready=frozenset({*CONSTRUCTORS.values(), "select", "ceildivsi"}),
    index_operand="int64",
    wrapped=frozenset({"i8", "i16", "i32", "i64", "index"}),
    overflowing=frozenset(),
)
