"""Facts of GPUs, plans for them, and what a plan or a kernel costs there.

- `limits`: the largest launches
- `devices`: facts of architectures and devices
- `occupancy`: blocks that a multiprocessor holds
- `estimate`: clocks of each unit, and which one binds
- `candidates`: the kinds of kernel that a contraction may become
- `steps`: threads that walk sequential loops together
- `plan`: what a plan depends on, one cost, and the choice
"""

from __future__ import annotations
