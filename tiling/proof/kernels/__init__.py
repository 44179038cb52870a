"""Mapped kernels: races, barriers, asynchronous copies.

- `lanes`: threads of one warp
- `ordering`: what orders two executions
- `conflicts`: pairs that touch one cell
- `commit_groups`: copies of single threads, in groups
- `turns`: arrivals at mbarriers, waits for their phases
- `mbarriers`: what these order
- `transfers`: copies of whole blocks, by tag
- `pairing`: copies and their waits
- `races`: the race proof
"""

from __future__ import annotations
