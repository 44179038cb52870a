"""Launches: blocks one after the other, their threads in turn.

- `threads`: threads of a block, and where they meet
- `launch`: launches of kernels
- `identities`: who a thread is
- `communication`: barriers, shuffles, reductions
- `memory`: memory of the device
- `matrices`: of a subgroup
- `copies`: to shared memory, waited for
- `barriers`: those that count arrivals and bytes
- `warpgroups`: boxes of tensors, products by four warps
- `fragments`: of matrices, in lanes
- `nvvm`: instructions of NVIDIA
"""

from __future__ import annotations
