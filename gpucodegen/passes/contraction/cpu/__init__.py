"""A contraction as CPU code.

- `choice`: which kernel a contraction becomes
- `blocking`: which axis is what, how many panels there are
- `ranges`: loops over axes, or parts of them
- `sharing`: how many elements of a factor are different
- `packing`: factors in place, or copied to panels
- `register_tiles`: tasks, stripes, blocks and the register tile
- `packed_dots`: narrow integers in words
- `split_k`: a reduction that threads share
- `transposed_result`: lanes along the rows
- `dot_sides`: the two factors of inner products
- `dots`: inner products
- `depthwise`: windows over one channel each
"""

from __future__ import annotations
