"""Nests that a whole block runs: fast memory, barriers, asynchronous copies.

- `transfer_spans`: which nests a block runs
- `rows`: loops over a row, dealt out to a team of threads
- `deals`: what a deal is, and which loops need no barrier between them
- `threads`: parallel loops divided among threads
- `spread`: nested parallel loops spread over threads, loop by loop
- `steps`: what is done between barriers, in numbers
- `dealing`: what divides loops, rows and reductions
- `product_deals`: products of tiles by all threads of the block
- `kept_sums`: their sums in registers, from one iteration to the next
- `phases`: barriers where threads have to meet
- `program`: the whole block
"""

from __future__ import annotations
