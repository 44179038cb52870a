"""What operations of several dialects have in common.

- `combiners`: operations that combine values: all that is known of each
- `memory_spaces`: what the memory spaces of all years mean
- `allocations`: which operations give memory
- `storage`: memory whose layout is a map
- `flat_elements`: memrefs of vectors as memrefs of numbers
- `transfers`: starts and waits of asynchronous copies
- `structured`: the regions of loops and branches
- `carried`: loop-carried values
- `outside`: operations that something outside of the program runs
- `effects`: which cells a call reads and writes, as declared
- `cast_checks`: rules of conversions
- `yields`: rules of what a region passes out
"""

from __future__ import annotations
