"""A contraction on devices of sm_90: tensor copies to a ring, products by warpgroups.

- `rectangles`: rows that several axes count, in tiles
- `boxes`: whether tensor copies can bring a factor, and the boxes that they bring
- `ring`: stages in shared memory, and the mbarriers that order who uses them
- `tensor_maps`: what describes an array and its boxes
- `tiled`: a contraction in tiles, its factors and its result in boxes
- `terms`: the blocks of terms of a tile
- `turns`: the tiles of a block, one after the other
- `result`: sums to the result, through a slice of shared memory of each warp
- `result_boxes`: whether tensor copies can store the result
- `boxed_result`: sums to the result by tensor copies
- `kernel`: the roles of warps that put them together
"""

from __future__ import annotations
