"""Kernels on arrays of dask, which are larger than a worker's memory.

Comes in: `dask.array` arrays, and functions of programs.  Goes out: arrays of dask,
computed when dask computes them.  docs/scale.md says what moves where.

`remote`
    Functions as they travel: as text, compiled once in each process.
`blocks`
    A function on every block, on blocks that indices name, and reductions as trees.
`halo`
    How far values travel, from the analysis of a function.
`stencils`
    Grids stepped in time, with halos of that depth.
`products`
    Products and convolutions.
"""

from __future__ import annotations

from gpucodegen.interop.dask.blocks import blockwise, map_blocks, reduce
from gpucodegen.interop.dask.products import conv2d, matmul
from gpucodegen.interop.dask.stencils import reach, stencil

__all__ = ["blockwise", "conv2d", "map_blocks", "matmul", "reach", "reduce", "stencil"]
