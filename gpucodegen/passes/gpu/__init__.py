"""Mapping to the GPU: grids, blocks, threads and the host around them.

- `mapped_loops`: parallel loops as grids and blocks see them
- `vector_width`: elements that an access moves at once
- `promote`: tiles copied to fast memory
- `overlap`: transfers during computation
- `blocks`: nests that a whole block runs
- `sweeps`: neighbours in memory that threads take together
- `stencils`: several time steps in one launch
- `kinds`: of kernel that one nest may become, in one table
- `gpu_mapper`: each nest as a kernel, or a host loop of kernels
- `collectives`: reductions among threads as shuffles
- `gpu_launch`: the kernel and its launch
- `grid_chunks`: more blocks than hardware takes at once
- `expose_parallelism`: nests in the order that a GPU finishes soonest
- `map_gpu`: all nests of every function
"""

from __future__ import annotations
