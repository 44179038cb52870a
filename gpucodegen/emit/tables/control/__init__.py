"""Loops, branches and blocks.

- `structured`: what loops and branches of all dialects share
- `loops`: counted loops in the spelling of the target
- `affine_loops`: loops and conditions of affine
- `scf_loops`: loops and conditions of scf
- `cfg`: bodies of several blocks
"""

from __future__ import annotations
