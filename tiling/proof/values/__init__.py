"""Which values reach which reads: flow, live-in and live-out, privatisation.

- `flow`: the writes that a read may find
- `undefined`: reads that find none
- `tile_body`: what one iteration takes and leaves
- `liveness`: what enters and leaves a part
- `privatisation`: loops parallel with copies
- `cones`: how far values travel over the cells of a grid
"""

from __future__ import annotations
