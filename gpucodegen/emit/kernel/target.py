"""What differs between the targets in the text of kernels, as one table."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.emit.text.expressions import NARROW, PLAIN, Division


@dataclass(frozen=True, slots=True)
class Target:
    """Spelling of index arithmetic and loops.

    ``index`` is the type that index variables get, or nothing where Python's integers
    serve; ``counted_by_while`` avoids ``range``, whose variable Numba makes 64 bits
    wide.  ``wrapped`` are the integers whose arithmetic has to be cut back to their
    width: Numba computes with 64 bits, Python with as many as it takes.
    ``overflowing`` are those of 64 bits, which wrap around in MLIR; Numba tells LLVM
    that its operators never leave them, so intrinsics take their place.
    ``shares_offsets``: sums that offsets have in common become variables.
    """

    name: str
    face: str
    division: Division
    index: str
    index_dtype: str
    counted_by_while: bool
    wrapped: frozenset[str] = frozenset({"i8", "i16", "i32", "i64"})
    overflowing: frozenset[str] = frozenset({"i64"})
    index_operand: str = ""
    shares_offsets: bool = False


CPU = Target(
    "cpu",
    "cpu",
    PLAIN,
    "",
    "i64",
    counted_by_while=False,
    wrapped=frozenset({"i8", "i16", "i32"}),
    overflowing=frozenset({"i64", "index"}),
    shares_offsets=True,
)
CUDA = Target("cuda", "cuda", NARROW, "int32", "i32", counted_by_while=True)
"""Kernels count with 32 bits: no buffer that a launch accepts has more elements."""
WIDE_CUDA = Target("cuda", "cuda", PLAIN, "int64", "i64", counted_by_while=True)
"""But indices that are data, in memory or cast from wide integers, have 64."""
HOST = Target(
    "host",
    "sim",
    PLAIN,
    "",
    "i64",
    counted_by_while=False,
    wrapped=frozenset({"i8", "i16", "i32", "i64", "index"}),
    overflowing=frozenset(),
    index_operand="int64",
)

TARGETS = {"cpu": CPU, "cuda": CUDA, "sim": CUDA}
"""The emulator executes the text that CUDA gets."""
