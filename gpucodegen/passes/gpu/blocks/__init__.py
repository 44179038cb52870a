"""Nests that a whole block runs: fast memory, barriers, asynchronous copies.

- `barrier_phases`: The program of a team with barriers where its threads have to meet
- `row_distribution`: Rows dealt out to the members of a team, a few neighbours at a
  time
- `scans`: Argmin and argmax dealt out to the members of a team
- `thread_reductions`: What the values of the members before each one combine to
- `work_distribution`: Products of tiles among the operations that the threads of a
  block share
"""

from __future__ import annotations
