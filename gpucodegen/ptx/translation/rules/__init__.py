"""One rule per instruction: what it does to the registers of all lanes.

- `tables`: what all rules share
- `control`: indirect branches and calls
- `integers`: integers and bits
- `floats`: floats
- `comparisons`: comparisons and selections
- `conversions`: moves and conversions
- `memory`: loads, stores, atomics, copies
- `warps`: shuffles, votes, reductions
- `matrices`: matrices of a warp
- `mbarriers`: barriers in memory
- `warpgroups`: matrices of four warps
"""

from __future__ import annotations
