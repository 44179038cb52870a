"""Plans of contractions on a CPU: candidates of a few kinds, and which one is taken.

| module | holds |
|---|---|
| `problem` | extents of a contraction, and what is known of its factors |
| `candidates` | the kinds of kernel, a class each |
| `register_tile` | the tile of the result that stays in registers, and its cycles |
| `tiling` | the sizes that all kernels with such a tile share |
| `kinds` | each kind's rule, sizes and cost |
| `plan` | the order of the kinds, and the choice among them |
"""

from __future__ import annotations
