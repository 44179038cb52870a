"""Which contractions tensor cores compute, and in which type its factors are.

A product of narrow floats is exact in f32, and tensor cores add it to a sum in f32,
which is what a program says that widens both factors first.  Those of f64 are fused
multiply-adds of f64.  They add several products at once, in an order of their own, so
the order of a float sum must be free.
"""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I32,
    FloatType,
    Type,
    element_type,
)
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.tiling.machine.gpu.devices import multiplies_octets

PASSES = {"tf32": 1, "3xtf32": 3}
"""Products of tf32 for one of f32, by the precision that is asked for."""
OCTETS = FloatType("f8E4M3FN"), FloatType("f8E5M2")
"""Floats of 8 bits that some devices multiply as they are."""
EXACT_IN_F16 = frozenset({"f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4"})
"""Floats of 8 bits whose numbers all are numbers of f16."""


def on_tensor_cores(contraction: Contraction) -> Contraction | None:
    """The contraction with factors as fragments hold them, if there are such.

    Floats of 8 bits become f16 where the architecture has no instruction for them.
    ``element`` stays the type of the sums.
    """
    is_free = contraction.reassociable or contraction.element == I32
    if contraction.words is not None or contraction.scale is not None or not is_free:
        return None
    factors = contraction.left, contraction.right
    found = [_narrowed(factor, contraction.element) for factor in factors]
    for kind in (*_octets(contraction), F16, BF16, I8):
        left, right = (each and _held_as(each, kind) for each in found)
        if left is not None and right is not None:
            return replace(contraction, left=left, right=right)
    types = {contraction.element, *map(type_of, factors)}
    is_asked = types == {F32} and contraction.precision in PASSES
    return contraction if types == {F64} or is_asked else None


def _octets(contraction: Contraction) -> tuple[Type, ...]:
    """Types of 8 bits that stay what they are: both factors lie along the terms."""
    is_along = all(
        factor.coefficient(len(factor.indices) - 1, contraction.reduction[-1]) == 1
        for factor in (contraction.left, contraction.right)
    )
    return OCTETS if is_along and multiplies_octets(contraction.arch) else ()


def type_of(factor: Operand) -> Type:
    """The type of a factor's value."""
    if factor.steps:
        return factor.steps[-1][0].result.type
    return element_type(factor.memref.type)


def _narrowed(factor: Operand, sums: Type) -> Operand | None:
    """The factor before it was widened to the type of the sums."""
    if not factor.steps:
        return None
    *steps, (last, place) = factor.steps
    widening = dict[Type, str]({F32: "arith.extf", I32: "arith.extsi"}).get(sums)
    if place is not None or last.name != widening:
        return None
    if all(place is not None for _, place in steps):
        return replace(factor, steps=())
    return replace(factor, steps=tuple(steps))


def _held_as(factor: Operand, kind: Type) -> Operand | None:
    """The factor in a type that tensor cores take, if that has all of its numbers."""
    found = type_of(factor)
    if found == kind:
        return factor
    is_small = isinstance(found, FloatType) and found.name in EXACT_IN_F16 & NARROW
    return factor.converted("arith.extf", F16) if is_small and kind == F16 else None
