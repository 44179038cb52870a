"""What the kernels of the table must show, and what they show today.

``GOALS`` has a bound for each figure of a row; ``PRESENT`` the figures that do not meet
theirs yet.  Those may only get better, and leave when the goal is met.  Shares of the
vendor's library and of a copy are estimates.  The library is cuBLAS on products, for
convolutions, too: an H100 took 0.7 of cuDNN's time or less for those of f32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from bench.gpu.kernels import KERNELS
from bench.gpu.measuring import reported
from gpucodegen.report.gpu.model import FunctionReport

ARCHITECTURE = "sm_90a"
LESS_IS_BETTER = frozenset(
    ("wavefronts", "unmerged", "registers", "spills", "barriers", "launches", "kernels")
)
WIDE = ("LDS", "LDG", "LDGSTS", "STG")
"""Opcodes of which the narrowest access counts."""
Bounds = Mapping[str, float]

SGEMM: Bounds = {
    "arithmetic": 0.89,
    "narrowest": 16,
    "wavefronts": 8,
    "registers": 128,
    "resident": 2,
    "spills": 0,
    "barriers": 1,
    "library": 0.92,
}
CONVOLUTION: Bounds = {**SGEMM, "arithmetic": 0.85}
PIXELS: Bounds = {name: x for name, x in CONVOLUTION.items() if name != "library"}
FILLED: Bounds = {"blocks": 132, "spills": 0}
TURNS: Bounds = {**FILLED, "blocks": 128}
"""512 tiles for 132 multiprocessors are four turns, of as few as 128 blocks."""
SKINNY: Bounds = {**FILLED, "copy": 0.8}
MEMORY: Bounds = {
    "narrowest": 16,
    "loads": 0.99,
    "stores": 0.99,
    "in_flight": 16384,
    "blocks": 264,
    "kernels": 1,
    "copy": 0.9,
}
TOTAL: Bounds = {
    **{name: x for name, x in MEMORY.items() if name not in ("narrowest", "stores")},
    "kernels": 2,
}
"""One number is stored at the end: nothing is beside it.  What the blocks leave before
that is a sector each, as many as there would be of wider stores by fewer rows."""
HISTOGRAM: Bounds = {"loads": 0.99, "spills": 0, "blocks": 132, "kernels": 1}
SOLVER: Bounds = {"launches": 200, "blocks": 132}

GOALS: Mapping[str, Bounds] = {
    **dict.fromkeys(("f32 2048", "f32 4096", "f32 naive 4096", "f32 open 4096"), SGEMM),
    "conv nhwc 3x3 64": CONVOLUTION,
    "conv nhwc 1x1 64": {**PIXELS, "copy": 0.9},
    "conv nchw 3x3 64": CONVOLUTION,
    **dict.fromkeys(("f32 1024", "f32 512 batch 64", "f32 1000x513x777"), FILLED),
    **dict.fromkeys(("f16 4096 mma.sync", "i8 4096", "conv f16 nhwc 3x3 64"), FILLED),
    "f16 4096": TURNS,
    "f32 16x4096x4096": SKINNY,
    "matvec 8192": SKINNY,
    "f64 4096": {**FILLED, "barriers": 4, "loads": 0.99, "stores": 0.99},
    **dict.fromkeys(("row sum", "argmax"), MEMORY),
    "column sum": {**MEMORY, "kernels": 2},
    "full sum": TOTAL,
    "histogram": HISTOGRAM,
    **dict.fromkeys(("softmax", "layernorm", "relu f32", "relu f16"), MEMORY),
    **dict.fromkeys(("copy", "transpose", "axpy"), MEMORY),
    "attention f16 64": {**FILLED, "kernels": 1},
    "attention f16 128": {**FILLED, "kernels": 1},
    "jacobi 4096": {"launches": 4},
    **dict.fromkeys(("trsm 1024", "lu 1024", "cholesky 1024"), SOLVER),
}
ALIKE = frozenset(("bf16 4096", "tf32 4096", "conv f16 nhwc 3x3 256"))
"""Rows that tell of time what others do not: their kernels are those of others."""
QUICK = frozenset(("relu f32", "relu f16", "copy"))
"""Rows whose report is a matter of a second."""

PRESENT: Mapping[str, Bounds] = {
    "conv nchw 3x3 64": {"narrowest": 4, "library": 0.79},
    "conv nhwc 3x3 64": {"library": 0.83},
    "trsm 1024": {"blocks": 128},
}
"""Figures that do not meet their goal yet."""


def function_figures(function: FunctionReport) -> dict[str, Any]:
    """The figures of the kernel that executes the most instructions, and numbers."""
    kernels = function.kernels
    main = max(kernels, key=lambda k: k.execution.instructions * k.launch.launches)
    return {
        **({} if main.figures is None else asdict(main.figures)),
        "kernels": len({kernel.name for kernel in kernels}),
        "launches": sum(kernel.launch.launches for kernel in kernels),
    }


@cache
def figures(name: str) -> dict[str, float | None]:
    """The figures of a row at its large size, one number each."""
    kernel = KERNELS[name]
    found = function_figures(reported(kernel, kernel.large, ARCHITECTURE))
    widths: Mapping[str, int] | None = found.pop("narrowest")
    if widths is None:
        return {**found, "narrowest": None}
    return {**found, "narrowest": min(widths.get(opcode, 16) for opcode in WIDE)}


def holds(figure: str, value: float | None, bound: float) -> bool:
    """Whether a figure is as good as a bound; one in a thousand is rounding."""
    if value is None:
        return False
    if figure in LESS_IS_BETTER:
        return value <= bound * 1.001
    return value >= bound * 0.999
