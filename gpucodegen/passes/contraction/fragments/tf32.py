"""Numbers of f32 as sums of numbers of tf32, which have 11 significant bits.

The first part of x is x rounded, halfway cases away from zero; the second one is what
is left, rounded in the same way.  Together they miss 2^-22 of x at most.  What is
infinite, no number, or would become infinite is one part, of which tensor cores read
the first 11 bits.  Infinity times the small part of a number may have another sign than
times the large one, and give NaN.
"""

from __future__ import annotations

from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, I32, I64, VectorType
from gpucodegen.passes.framework.builder import Builder

HALF = 0x1000
"""Half of the last bit that a tf32 has, among the bits of an f32."""
KEPT = -0x2000
"""The bits that it has."""
BEYOND = float.fromhex("0x1.ffep127")
"""The first magnitude that would be rounded to infinity."""


def tf32_parts(b: Builder, value: Value, count: int) -> list[Value]:
    """One or two tf32 numbers for each f32 of a vector, the large ones first."""
    first, fits = _rounded(b, value, is_exact=count > 1)
    if count == 1:
        return [first]
    ty = value.type
    (left,) = b.add("arith.subf", (value, first), [ty], hint="left")
    zeros = b.constant(0, ty)
    (left,) = b.add("arith.select", (fits, left, zeros), [ty], hint="left")
    return [first, _rounded(b, left)[0]]


def _rounded(
    b: Builder, value: Value, *, is_exact: bool = False
) -> tuple[Value, Value]:
    """The numbers rounded, and which of them were.

    ``is_exact``: without the bits that tensor cores do not read.
    """
    ty = value.type
    assert isinstance(ty, VectorType)
    words, bits = VectorType(ty.shape, I32), VectorType(ty.shape, I1)

    def integer(name: str, left: Value, number: int) -> Value:
        return b.add(name, (left, b.constant(number, words)), [words], hint="code")[0]

    (code,) = b.add("arith.bitcast", (value,), [words], hint="code")
    (magnitude,) = b.add("math.absf", (value,), [ty], hint="magnitude")
    below = {"predicate": IntegerAttr(BELOW, I64)}
    limit = b.constant(BEYOND, ty)
    (fits,) = b.add("arith.cmpf", (magnitude, limit), [bits], below, hint="fits")
    near = integer("arith.addi", code, HALF)
    near = integer("arith.andi", near, KEPT) if is_exact else near
    (kept,) = b.add("arith.select", (fits, near, code), [words], hint="code")
    (rounded,) = b.add("arith.bitcast", (kept,), [ty], hint="tf32")
    return rounded, fits


BELOW = 4
"""``olt`` among the predicates of ``arith.cmpf``: it holds of no NaN."""
