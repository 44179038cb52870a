"""Facts of GPUs, plans for them, and what a plan or a kernel costs there.

- `limits`: the largest launches
- `devices`: facts of architectures and devices
- `occupancy`: blocks that a multiprocessor holds
- `estimate`: clocks of each unit, and which one binds
- `banks`: turns of shared memory
- `reductions`: teams of threads for rows, and parts of long rows
- `candidates`: the kinds of kernel that a contraction may become
- `copies`: how threads copy a tile to shared memory
- `lanes`: which part of a tile each thread multiplies
- `streams`: elementwise sweeps over memory
- `transposes`: tiles turned around in shared memory
- `product_work`: what a kernel of a contraction does, counted from its plan
- `steps`: blocks of terms that walk several axes evenly
- `teams`: threads that walk sequential loops together
- `plan`: what a plan depends on, one cost, and the choice
- `time_tiles`: tiles of a stencil, and its steps in one launch
"""

from __future__ import annotations
