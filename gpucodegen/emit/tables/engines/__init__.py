"""Lines for the matrix units and copy engines of a GPU.

- `subgroups`: matrices of a warp
- `barriers`: mbarriers, fences
- `tensor_copies`: boxes of tensors
- `warpgroups`: products by four warps
"""

from __future__ import annotations
