"""A contraction on devices of sm_90: tensor copies to a ring, products by warpgroups.

- `rectangles`: rows that several axes count, in tiles
- `boxes`: whether tensor copies can bring a factor, and the boxes that they bring
- `ring`: stages in shared memory, and the mbarriers that order who uses them
- `result`: sums to the result, through a slice of shared memory of each warp
- `kernel`: the roles of warps that put them together
"""

from __future__ import annotations
