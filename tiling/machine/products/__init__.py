"""Plans of contractions on a CPU.

- `problem`: host, extents and decisions
- `register_tile`: rows and columns in registers
- `task_grid`: blocks of rows times stripes of columns
- `plan`: register tile, blocks, packing
- `streamed_plan`: rows of a factor read in place
- `outer_plan`: panels that meet all outer axes
- `pack_on_first_use`: panels copied during the first tile
- `im2row_plan`: lines of an image copied
- `dot_plan`: inner products
- `packed_dot_plan`: narrow integers in words
- `split_k_plan`: a reduction that threads share
- `flip_plan`: the transposed result
- `window_plan`: windows over one channel
"""

from __future__ import annotations
