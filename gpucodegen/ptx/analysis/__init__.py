"""What a kernel's text says of its accesses and loops, without running it.

Comes in: an entry, the extents of its blocks, its parameters.  Goes out: loops, and for
each access what one request costs.

- `values`: registers as numbers that threads know, plus one that they share
- `arithmetic`: instructions on such values
- `states`: the registers' values at every basic block
- `requests`: what the accesses of a warp cost
"""

from __future__ import annotations
