"""How many elements of a factor are different: neighbouring windows share theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.nests import Axis


def different_share(factor: Operand, axes: Sequence[Axis]) -> float:
    """Different elements per element that is read while ``axes`` run."""
    ty = factor.memref.type
    assert isinstance(ty, MemRefType)
    form = strided_form(ty)
    if form is None or None in form.strides:
        return 1.0
    strides = [stride or 0 for stride in form.strides]
    used = [axis for axis in axes if factor.mentions(axis)]

    def step(axis: Axis) -> int:
        dimensions = enumerate(strides)
        return sum(
            abs(factor.coefficient(d, axis) * stride) for d, stride in dimensions
        )

    return share_of((step(axis), axis.extent) for axis in used)


def share_of(steps: Iterable[tuple[int, int]]) -> float:
    """Different sums per choice of a multiple of each step below its extent.

    Multiples of a step that is as long as all shorter ones reach are all different;
    otherwise they fill what they reach as densely as the shorter ones do.

    >>> share_of([(1, 384), (384, 28)])
    1.0
    >>> share_of([(128, 28), (1, 384)]) == 3840 / (28 * 384)
    True
    """
    different = reach = chosen = 1
    for step, extent in sorted(steps):
        further = reach + step * (extent - 1)
        most = different * extent
        filled = different * further // reach
        different = most if step >= reach else min(most, filled)
        reach, chosen = further, chosen * extent
    return different / chosen
