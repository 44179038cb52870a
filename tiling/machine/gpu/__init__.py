"""Facts of GPUs, plans for them, and what a plan or a kernel costs there.

- `limits`: the largest launches
- `devices`: facts of architectures and devices
- `occupancy`: blocks that a multiprocessor holds
- `estimate`: clocks of each unit, and which one binds
- `reductions`: teams of threads for rows, and parts of long rows
- `candidates`: the kinds of kernel that a contraction may become
- `streams`: elementwise sweeps over memory
- `transposes`: tiles turned around in shared memory
- `plan`: what a plan depends on, one cost, and the choice
"""

from __future__ import annotations
