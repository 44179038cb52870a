"""Time loops around stencils: several steps in one launch, on overlapped tiles.

- `cells`: which cell of an array an instance computes or reads
- `time_nest`: a time loop taken apart, with the halo that it needs
- `recognition`: which loops are one
- `chunks`: boxes of cells dealt out to threads
- `tiles`: the tile of a block and its local arrays
- `transfers`: cells in and out of them
- `marching`: a chunk row after row, with rows in registers
- `sweeps`: one parallel nest on a tile
- `problem`: the loop as its plan sees it
- `launches`: the kernels, and the host's loop around them
"""

from __future__ import annotations
