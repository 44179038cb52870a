"""Facts of GPUs, plans for them, and what a plan or a kernel costs there.

- `limits`: the largest launches
- `devices`: facts of architectures and devices
- `occupancy`: blocks that a multiprocessor holds
- `estimate`: clocks of each unit, and which one binds
- `candidates`: the kinds of kernel that a contraction may become
- `plan`: what a plan depends on, one cost, and the choice
- `time_problem`: a stencil in numbers, and tiles of it
- `time_tiles`: which tiles, and how many steps in one launch
"""

from __future__ import annotations
