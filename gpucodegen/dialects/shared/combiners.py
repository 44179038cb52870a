"""Table of the combining operations of reductions, atomics and accumulations.

Reductions of affine, vector and gpu, atomic updates and accumulations in loops name the
same few operations in different words. One row describes one operation of arith: its
neutral element, whether it may be reordered, and its names in each dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from gpucodegen.ir.attributes import Attribute, IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, Type
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Combiner:
    """An operation that is commutative and, but for rounding, associative.

    >>> COMBINERS["addf"].neutral_in(32), COMBINERS["maxsi"].neutral_in(8)
    (-0.0, -128)
    """

    operation: str
    """Name of the arith operation, without the dialect."""
    kind: str
    """The word of ``vector.reduction``, ``vector.contract`` and ``gpu.all_reduce``."""
    atomic: str
    """The word of ``memref.atomic_rmw`` and ``affine.parallel``, if they have one."""
    operator: str
    """Name in analyses and reports."""
    neutral: float | Callable[[int], int]
    """The neutral element; of integers it may depend on the number of bits."""
    is_ordered: bool = False
    """Whether the result depends on the order, because it rounds."""
    sign: str = ""
    """Of integers: ``s`` or ``u`` if the operation distinguishes signedness."""

    @property
    def is_float(self) -> bool:
        """Whether it combines floats, else integers."""
        return self.operation[-1] == "f"

    @property
    def name(self) -> str:
        """The full name of the operation."""
        return f"arith.{self.operation}"

    def neutral_in(self, bits: int) -> float:
        """The neutral element at a width of so many bits."""
        return self.neutral(bits) if callable(self.neutral) else self.neutral

    def neutral_of(self, ty: Type) -> float:
        """The neutral element of a type; ``index`` has 64 bits."""
        return self.neutral_in(ty.width if isinstance(ty, IntegerType) else 64)

    def takes(self, ty: Type) -> bool:
        """Whether it combines numbers of a type; ``index`` is excluded."""
        if self.is_float:
            return isinstance(ty, FloatType)
        other = {"s": "u", "u": "s"}.get(self.sign, "none")
        return isinstance(ty, IntegerType) and ty.signedness != other


def _lowest(bits: int) -> int:
    return -(1 << (bits - 1))


def _highest(bits: int) -> int:
    return (1 << (bits - 1)) - 1


_ROWS = (
    Combiner("addf", "add", "addf", "add", -0.0, is_ordered=True),
    Combiner("addi", "add", "addi", "add", 0),
    Combiner("mulf", "mul", "mulf", "mul", 1.0, is_ordered=True),
    Combiner("muli", "mul", "muli", "mul", 1),
    Combiner("minui", "minui", "minu", "unsigned min", -1, sign="u"),
    Combiner("minsi", "minsi", "mins", "min", _highest, sign="s"),
    Combiner("minnumf", "minnumf", "minnumf", "min", nan),
    Combiner("maxui", "maxui", "maxu", "unsigned max", 0, sign="u"),
    Combiner("maxsi", "maxsi", "maxs", "max", _lowest, sign="s"),
    Combiner("maxnumf", "maxnumf", "maxnumf", "max", nan),
    Combiner("andi", "and", "andi", "and", -1),
    Combiner("ori", "or", "ori", "or", 0),
    Combiner("xori", "xor", "xori", "xor", 0),
    Combiner("minimumf", "minimumf", "minimumf", "minimum", inf),
    Combiner("maximumf", "maximumf", "maximumf", "maximum", -inf),
    Combiner("minimumnumf", "minimumnumf", "", "minimum number", nan),
    Combiner("maximumnumf", "maximumnumf", "", "maximum number", nan),
)
COMBINERS = {row.operation: row for row in _ROWS}
"""By name of the arith operation."""
OF_ATOMICS = {row.atomic: row for row in _ROWS if row.atomic}
"""By kind of atomic updates and parallel loops."""
ATOMIC_KINDS = tuple(sorted([*OF_ATOMICS, "assign"]))
"""All kinds of atomic updates; their positions are the enumeration's numbers."""
OLD_ATOMIC_KINDS = {"maxf": "maximumf", "minf": "minimumf"}
"""Kinds of atomic updates until 2023."""
GPU_KINDS = tuple(dict.fromkeys(row.kind for row in _ROWS if row.atomic))
"""All kinds of reductions among threads."""
OLD_KINDS = {"minf": "minnumf", "maxf": "maxnumf"}
"""Kinds of vector reductions until 2023."""


def of_kind(kind: str, element: Type) -> Combiner | None:
    """The combiner for a kind of the vector or gpu dialect at an element type, or None.

    >>> from gpucodegen.ir.types import F32, I32
    >>> of_kind("add", F32).name, of_kind("xor", F32)
    ('arith.addf', None)
    """
    is_float = isinstance(element, FloatType)
    if not is_float and not isinstance(element, IntegerType | IndexType):
        return None
    return _OF_KINDS.get((kind, is_float))


def of_operator(operator: str, element: Type) -> Combiner | None:
    """The combiner for a reduction operator of the dependence analysis at a type."""
    return _OF_OPERATORS.get((operator, isinstance(element, FloatType)))


_OF_KINDS = {(row.kind, row.is_float): row for row in _ROWS}
_OF_OPERATORS = {(row.operator, row.is_float): row for row in _ROWS}


def kind_word(kind: Attribute | None) -> str:
    """The word of ``#vector.kind<add>`` and the like; ``add`` if it is absent."""
    return str(kind or "").partition("<")[2].removesuffix(">") or "add"


def atomic_kind(op: Operation) -> str:
    """The kind of a ``memref.atomic_rmw``."""
    kind = op.attributes.get("kind")
    return ATOMIC_KINDS[kind.value] if isinstance(kind, IntegerAttr) else "assign"
