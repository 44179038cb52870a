"""New orders of a nest, and the loops that run them.

- `schedule`: when each execution happens
- `distribution`: which parts share a loop
- `skew`: skews and shifts
- `jam`: iterations side by side
- `wavefront`: time and space in tiles
- `fronts`: executions that may run at once
- `orders`: what isl finds, and steps along loops of the text
- `schedule_ast`: loops as a small tree
- `isl_ast`: a schedule to such a tree
- `scan`: loops that visit a set
- `footprint`: the box that a tile touches
- `promotion`: tiles in fast memory
"""

from __future__ import annotations
