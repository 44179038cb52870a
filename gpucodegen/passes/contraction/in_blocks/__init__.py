"""Products of tiles that a program has brought to shared memory itself.

- `forms`: which nests of a block's program they are, and what keeps others from it
- `reasons`: the same in words
- `keeping`: loops over which their sums stay in registers
- `held`: factors as they lie in the program's own buffers
- `running`: what the threads of the block do
"""

from __future__ import annotations
