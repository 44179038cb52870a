"""What is wrong with a program, or with a mapping of it: errors and warnings.

- `memory_spaces`: memory spaces without a meaning
- `effects`: functions keep to their declared effects
- `lifetimes`: buffers used after they are freed
- `reads`: reads that find no value
- `bounds`: accesses against the bounds of their buffers
- `access_bounds`: errors where proven, warnings where possible
- `shapes`: extents that only a call knows
- `guards`: checks at run time
- `transfer_pairs`: transfers and their waits
- `size`: what would take too long to compile
- `races`: no two threads race
- `kernels`: the race proof of all kernels
"""

from __future__ import annotations
