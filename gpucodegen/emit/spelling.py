"""Spelling of kernels on a target: dtypes, index types, loops, and access reports."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from gpucodegen.emit.expressions import NARROW_DIVISION, PLAIN, Division
from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.locations import Location
from gpucodegen.ir.number_formats import FORMATS, NARROW, of_bits, to_bits
from gpucodegen.ir.types import ComplexType, FloatType, IndexType, IntegerType, Type
from gpucodegen.records import dataclass

CONSTRUCTORS = dict.fromkeys(sorted(NARROW), "float32") | {
    "f32": "float32",
    "f64": "float64",
    "i1": "boolean",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
"""The intrinsic that makes a number of a type."""
COMPLEX = "complex<"
SUPPORTED = frozenset({*CONSTRUCTORS, "index"})


def dtype(ty: Type, location: Location, target: str) -> str:
    """The dtype name (``f32``, ``i8``, ``index`` ...) of a scalar type of the target.

    >>> from gpucodegen.ir.locations import UNKNOWN
    >>> dtype(IntegerType(8, "u"), UNKNOWN, "cpu")
    'i8'
    """
    name = str(ty)
    if isinstance(ty, IntegerType):
        name = f"i{ty.width}"
    is_scalar = isinstance(ty, IntegerType | FloatType | IndexType | ComplexType)
    if is_scalar and name in SUPPORTED:
        return name
    raise UnsupportedType(location, type=ty, target=target)


def is_float(name: str) -> bool:
    return name.startswith(("f", "b"))


def in_range(value: float, kind: str) -> float:
    """A constant in the range of its dtype: signed, or rounded.

    >>> in_range(255, "i8"), in_range(-1, "i8"), in_range(0.1, "bf16")
    (-1, -1, 0.10009765625)
    """
    if kind in NARROW:
        return of_bits(to_bits(float(value), kind), kind)
    if kind[0] != "i" or not isinstance(value, int):
        return value
    width = int(kind[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def stored_bytes(kind: str) -> int:
    """Bytes of an element in memory.

    >>> [stored_bytes(kind) for kind in ("f8E4M3FN", "i1", "index", "complex<f32>")]
    [1, 1, 8, 8]
    """
    if kind.startswith(COMPLEX):
        return 2 * stored_bytes(kind[len(COMPLEX) : -1])
    if kind in FORMATS:
        return -(-FORMATS[kind].width // 8)
    return max(1, int(kind[1:]) // 8) if kind[1:].isdigit() else 8


def is_index(ty: Type) -> bool:
    return isinstance(ty, IndexType)


DECLARED_SHARED = 48 * 1024
"""Limit of statically declared shared memory in bytes; launches may give more."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Index arithmetic, loops and memory in the text of a kernel.

    ``name``: the target's name in messages. ``face``: the module of the intrinsics,
    with its ready-made names in ``ready`` if it makes all others on request.
    ``index``: the type of index variables, or "" if Python's integers serve;
    ``index_parameter``: the element type of index parameters; ``counted_by_while``
    avoids ``range``, whose variable Numba makes 64 bits wide.
    ``wrapped``: integer types whose results must be wrapped to their width: Numba
    computes with 64 bits, Python with unlimited ones. ``overflowing``: 64-bit types,
    which wrap around in MLIR; Numba tells LLVM that its operators never overflow, so
    intrinsics replace them. ``shares_offsets``: common sums of offsets become
    variables.

    ``in_blocks``: threads run in blocks with shared memory, asynchronous copies and
    barriers. ``has_heap``: kernels allocate memory. ``divides_loops``: a parallel loop
    is divided among threads. ``takes_hints``: the compiler vectorises loops, and takes
    hints on loops and prefetches. ``converts_arguments``: a kernel's entry rounds
    numbers to the types of its parameters.
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
    division=NARROW_DIVISION,
    index="int32",
    index_dtype="i32",
    overflowing=frozenset({"i64"}),
    counted_by_while=True,
    in_blocks=True,
)
"""32-bit indices; a launch with larger buffers takes the wide kernel."""
WIDE_CUDA = Spelling(
    "cuda",
    "gpucodegen.intrinsics.cuda",
    index="int64",
    index_parameter="i64",
    counted_by_while=True,
    in_blocks=True,
)
"""64-bit indices, if they are data, or if 32 bits do not suffice."""
HOST = Spelling(
    "host",
    "gpucodegen.runtime.cpu.arithmetic",
    ready=frozenset({*CONSTRUCTORS.values(), "select", "ceildivsi"}),
    index_operand="int64",
    wrapped=frozenset({"i8", "i16", "i32", "i64", "index"}),
    overflowing=frozenset(),
)


Told = tuple[Any, ...]
"""Place, verb, buffer, dimension, extent and names of the values of a report."""


@dataclass(slots=True)
class AccessReports:
    """Out-of-bounds reports of one kernel.

    A report takes one word that tells whether it occurred, and one word per value.
    ``pointer``: the parameter that points to the words, once there is a report.

    >>> reports = AccessReports()
    >>> reports.add(("first", ("i", "j"))), reports.add(("second", ("n",)))
    (0, 3)
    >>> reports.words
    5
    """

    pointer: str = ""
    words: int = 0
    told: list[Told] = field(default_factory=list[Told])

    def add(self, told: Told) -> int:
        """Index of the first word of a new report."""
        first = self.words
        self.words += 1 + len(told[-1])
        self.told.append(told)
        return first
