"""Whether a contraction pays on a GPU.

`paying_contraction` is the one place that is asked.
"""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.contraction.gpu.axes import groups_of
from gpucodegen.passes.contraction.recognition.recognize import Contraction, recognize


def paying_contraction(op: Operation) -> Contraction | None:
    """The contraction that a nest computes, if the tiled kernel runs it.

    It has rows and columns, and the kernel multiplies elements, without a scale.
    """
    found = recognize(op)
    if found is None or found.vector is None or found.scale is not None:
        return None
    is_tiled = found.sums_in_registers and groups_of(found) is not None
    return found if is_tiled else None
