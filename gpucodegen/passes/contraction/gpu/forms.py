"""Whether a contraction pays on a GPU, and in which types its kernel computes.

`paying_contraction` is the one place that is asked.

Sums of narrow floats (f16 += f16 * f16) are kept in f32 from their first term to their
last, and rounded once.  Where a program rounds after every operation, that is closer to
the sum than what it asks for, as a fused multiply-add is.
"""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import F32
from gpucodegen.passes.contraction.gpu.axes import groups_of
from gpucodegen.passes.contraction.recognition.recognize import Contraction, recognize


def paying_contraction(op: Operation) -> Contraction | None:
    """The contraction that a nest computes, if the tiled kernel runs it.

    It has rows and columns, and the kernel multiplies elements, without a scale.
    """
    found = recognize(op, parametric=True)
    if found is None or found.vector is None or found.scale is not None:
        return None
    if groups_of(found) is None:
        return None
    return found if found.sums_in_registers else _in_f32(found)


def _in_f32(found: Contraction) -> Contraction:
    """The sums, and the factors, in f32; the result stays in its type."""
    left, right = (o.converted("arith.extf", F32) for o in (found.left, found.right))
    return replace(found, left=left, right=right, element=F32)
