"""Parallel nests whose threads take groups of neighbours in memory.

- `sweep`: a nest with one loop along x, and what lies side by side there
- `groups`: several iterations at once, their neighbours in memory moved together
- `turned_tiles`: tiles that blocks turn around in shared memory
"""

from __future__ import annotations
