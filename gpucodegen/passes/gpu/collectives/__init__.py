"""Reductions among threads, rotations and broadcasts, as shuffles and shared memory.

- `warp`: what a lane does
- `operations`: what each operation becomes
- `needless`: barriers that a proof can do without
- `lower`: the pass
"""

from __future__ import annotations
