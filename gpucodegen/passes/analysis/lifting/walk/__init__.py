"""The walk over a region: its loops, conditions and statements as a tree.

- `registers`: values that loops carry
- `reductions`: accumulations
- `effects`: declared effects as accesses
- `walk`: the state of one walk
- `structure`: loops and conditions
- `grid`: blocks and threads
- `transfers`: asynchronous copies
- `mbarriers`: phases, and copies that arrive at them
- `bulk_stores`: copies of engines from shared memory, their groups and fences
- `calls`: what a callee reads and writes
- `walker`: which of these an operation is for
"""

from __future__ import annotations
