"""Plans of contractions: the kinds of kernel, and what each costs.

- `banks`: turns of shared memory
- `block_order`: tiles of neighbouring blocks, what the L2 cache keeps for them
- `candidates`: the kinds of kernel that a contraction may become
- `copies`: how threads copy a tile to shared memory
- `lanes`: which part of a tile each thread multiplies
- `rectangles`: tiles of rows that several axes count
- `steps`: blocks of terms that walk several axes evenly
- `product_work`: what a kernel of a contraction does, counted from its plan
- `fragments`: what one on tensor cores does
- `warpgroups`: what one does that four warps multiply for together
- `plan`: what a plan depends on, one cost, and the choice
- `words`: products of bytes, four terms in a word
"""

from __future__ import annotations
