"""Mapping to the GPU: grids, blocks, threads and the host around them.

- `block_programs`: Nests that use fast memory or asynchronous copies: whole blocks
  run them
- `blocks`: Nests that a whole block runs: fast memory, barriers, asynchronous copies
- `contractions`: The nests of a list as members of fusion groups, and the kernel of a
  contraction
- `elementwise`: Elementwise nests: every thread takes groups of neighbours, 16 bytes
  an access
- `expose_parallelism`: Nests in the order in which a GPU is expected to run them
  soonest
- `lower_collectives`: Reductions among threads, rotations and broadcasts as shuffles
- `map_gpu`: Nests to kernels of the GPU, in every function
- `nest_mapping`: Sequential loops around parallel ones: they stay on the host, around
  kernels
- `overlap_transfers`: Software pipelining of transfers: the next ones are under way
  while one computes
- `privatized_histograms`: The kernel of a loop of updates whose blocks have cells of
  their own
- `promote`: Tiles of arrays in fast memory: copied in, used, copied out
- `promoted_copies`: Copies between an array and the buffer that holds its tile, as
  transfers
- `reduction_problems`: What plans of reductions depend on: extents, widths, where
  neighbours lie
- `reductions`: Nests that reduce: teams of threads where the order of terms is free
- `row_reductions`: A block, or a warp, for each iteration of the parallel loops
- `split_reductions`: Long scans in parts: three nests, so that the parts of a few
  rows fill the device
- `stencil_recognition`: A time loop as the plan of its tiles sees it: counts,
  extents, margins
- `stencil_sweeps`: Time loops around stencils: several steps in one launch, where
  that pays
- `stencil_tiles`: Cells of arrays into the tile of a block, and out of it
- `stepped`: Parallel loops around programs of steps: each iteration has a team,
  within one block
- `synchronization`: Transfers that start together share a group, waits in a row share
  a barrier
- `transposes`: Nests whose loads lie beside each other along one loop, and stores
  along another
"""

from __future__ import annotations
