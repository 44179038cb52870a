"""Tasks of threads, blocks, stripes, and the register tile in their middle.

- `accumulator_splitting`: sums that take turns between registers
- `fetching`: what a tile fetches while it computes
- `corners`: results that are no box
- `kernel`: the register tiles of one panel
- `stripe`: rows that meet all panels of a stripe
- `block`: what one thread does
- `tasks`: all threads
"""

from __future__ import annotations
