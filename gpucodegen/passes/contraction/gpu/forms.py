"""Whether a contraction pays on a GPU, and as which groups of axes it is computed.

`paying_contraction` is the one place that is asked.
"""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.contraction.gpu.axes import Groups, groups_of
from gpucodegen.passes.contraction.recognition.recognize import Contraction, recognize


def paying_contraction(op: Operation) -> tuple[Contraction, Groups] | None:
    """The contraction that a nest computes and its axes, if the tiled kernel runs it.

    It has rows and columns, and the kernel multiplies elements, without a scale.
    """
    found = recognize(op)
    if found is None or found.vector is None or found.scale is not None:
        return None
    groups = groups_of(found) if found.sums_in_registers else None
    return None if groups is None else (found, groups)
