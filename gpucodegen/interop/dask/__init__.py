"""Kernels on dask arrays, which may exceed a worker's memory.

Functions of programs are applied to blocks of `dask.array` arrays, when dask computes
them. docs/scale.md describes the data movement.
"""

from __future__ import annotations

from gpucodegen.interop.dask.blocks import blockwise, map_blocks, reduce
from gpucodegen.interop.dask.products import conv2d, matmul
from gpucodegen.interop.dask.stencils import reach, stencil

__all__ = ["blockwise", "conv2d", "map_blocks", "matmul", "reach", "reduce", "stencil"]
