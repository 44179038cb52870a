"""The tables, one file each: ``LINES`` is the tuple of what is measured.

A table is added by its file and its line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bench.row import Line

TABLES: dict[str, str] = {
    "matmul": "products of matrices, from linalg and from naive loops",
    "integers": "products of matrices of bytes",
    "convolution": "convolutions of whole layers",
    "layers": "the layers of ResNet-50 and depthwise ones, in both layouts",
    "epilogues": "products and convolutions with bias and activation",
    "streams": "copies, vector sums and transposes at the speed of memory",
    "examples": "every program of the examples",
    "rows": "sums, softmax and normalisation along rows",
    "stencils": "grids relaxed over many steps in time",
    "polybench": "PolyBench against loops in Numba and expressions in NumPy",
    "kernels": "ready-made operations against NumPy, torch and JAX",
    "jit": "functions of plain Python, by jit and by Numba",
    "numpy_programs": "NumPy with loops and temporary arrays, by jit, NumPy and Numba",
    "models": "models in JAX's text: compiled and called, beside JAX",
    "tuning": "programs of the other tables, tuned quickly and in full, untuned",
    "blocks": "whole arrays against blocks of dask, by kernels and by NumPy",
    "analysis": "how long the analysis of each PolyBench kernel takes",
    "safety": "accesses checked as they run, against the same without checks",
    "compile": "how long kernels of a GPU take to compile",
    "latency": "what a user waits for besides the work: compiling, starting, calling",
}
"""Tables that need no GPU, with what they are about."""
GPU = {"gpu": "kernels on a GPU: checked, timed, beside their estimates"}


def lines(table: str, wanted: str = "") -> tuple[Line, ...]:
    """The lines of a table whose names contain ``wanted``."""
    module = import_module(f"bench.tables.{table}")
    return tuple(x for x in cast("tuple[Line, ...]", module.LINES) if wanted in x.name)
