"""Shuffles, reductions and votes of a warp or a block.

- `checks`: rules
- `reduce_syntax`: syntax of ``gpu.all_reduce``
- `meetings`: who has to come together
- `warp`: code of one thread whose results a warp shares
- `operations`: the table
"""

from __future__ import annotations
