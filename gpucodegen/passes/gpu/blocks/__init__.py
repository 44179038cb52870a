"""Nests that a whole block runs: fast memory, barriers, asynchronous copies.

- `transfer_spans`: which nests a block runs
- `threads`: parallel loops divided among threads
- `teams`: threads that walk one program together, and loops spread over them
- `dealing`: which of both ways divides a parallel nest
- `phases`: barriers where threads have to meet
- `program`: the whole block
"""

from __future__ import annotations
