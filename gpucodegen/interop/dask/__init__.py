"""Kernels on dask arrays, which may exceed a worker's memory.

Functions of programs are applied to blocks of `dask.array` arrays, when dask computes
them. docs/scale.md describes the data movement.
"""

from __future__ import annotations

from typing import NoReturn

from gpucodegen.interop.dask.blocks import blockwise, map_blocks, reduce
from gpucodegen.interop.dask.products import conv2d, matmul
from gpucodegen.interop.dask.stencils import halo, stencil

__all__ = ["blockwise", "conv2d", "halo", "map_blocks", "matmul", "reduce", "stencil"]


def __getattr__(name: str) -> NoReturn:
    if name == "reach":
        raise AttributeError("gpucodegen.dask.reach is gpucodegen.dask.halo")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
