"""A contraction as a GPU kernel.

- `forms`: whether one pays
- `axes`: rows, columns, reduction and batch as four indices
- `walk`: positions of the reduction, block of terms by block of terms
- `views`: arrays over as few axes as they have side by side
- `block_order`: the grid, and which block computes which tile
- `problem`: what the plan depends on
- `staging`: tiles of one factor from global to shared memory
- `held`: where factors lie in shared memory
- `multiply`: products of what shared memory holds
- `result_tile`: what one thread holds in registers, read and stored in pieces
- `problem`: what the plan of a kernel depends on
- `pipeline`: blocks of terms on their way and multiplied
- `kernel`: the loop that puts them together
"""

from __future__ import annotations
