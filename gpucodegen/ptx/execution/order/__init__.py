"""What orders the accesses of threads, and which accesses nothing orders.

- `clocks`: what each thread knows of the others' past
- `marks`: who touched each cell of memory
- `readers`: reads and atomics that a later write must know of
- `lane_readers`: the same of each lane, in shared memory
- `releases`: what atomics and flags publish
"""

from __future__ import annotations
