"""A contraction as a GPU kernel.

- `axes`: Whether a contraction pays on a GPU, and in which types its kernel computes
- `block_products`: What a block does of a product of tiles in its own shared memory
- `kernel`: A contraction as a GPU kernel: shared-memory tiles, a register tile per
  thread
- `problem`: What the plan of a contraction's kernel depends on
- `staging`: Tiles of one factor on their way from global to shared memory
- `tensor_boxes`: A contraction in tiles of rows: its factors in boxes, its result too
  where it can be
- `tensor_cores`: Sums of fragments to the result: through shared memory, a row of 16
  bytes a thread
- `thread_tile`: A block's tile of C, and the part of it that one thread holds in
  registers
- `warpgroup_kernel`: A contraction by warpgroups: one copies, the others multiply
- `warpgroup_results`: Sums of warpgroups to the result by tensor copies, each warp
  for itself
"""

from __future__ import annotations
