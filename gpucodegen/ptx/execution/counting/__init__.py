"""What a kernel did: instructions, sectors, wavefronts.

- `cost`: of one access of a warp
- `footprint`: of blocks in global memory
- `counters`: of a launch
"""

from __future__ import annotations
