"""Mapping to the GPU: grids, blocks, threads and the host around them.

- `facts`: what is known of loops and accesses
- `transfers`: copies to fast memory, and during computation
- `launches`: a kernel and its launch
- `blocks`: nests that a whole block runs
- `sweeps`: neighbours in memory that threads take together
- `stencils`: several time steps in one launch
- `kinds`: of kernel that one nest may become, in one table
- `gpu_mapper`: each nest as a kernel, or a host loop of kernels
- `collectives`: reductions among threads as shuffles
- `expose_parallelism`: nests in the order that a GPU finishes soonest
- `map_gpu`: all nests of every function
- `plan_fields`: the names of what may be asked of their plans
"""

from __future__ import annotations
