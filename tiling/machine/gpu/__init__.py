"""Facts of GPUs, plans for them, and what a plan or a kernel costs there.

- `limits`: the largest launches
- `devices`: facts of architectures and devices
- `occupancy`: blocks that a multiprocessor holds
- `estimate`: clocks of each unit, and which one binds
- `products`: plans of contractions
- `own_tiles`: products of tiles that a program has chosen
- `reductions`: teams of threads for rows, and parts of long rows
- `scatters`: where updates of cells that data choose meet
- `streams`: elementwise sweeps over memory
- `transposes`: tiles turned around in shared memory
- `teams`: threads that walk sequential loops together
- `in_time`: time loops around stencils, several steps in a launch
"""

from __future__ import annotations
