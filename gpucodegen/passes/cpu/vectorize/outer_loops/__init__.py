"""Outer-loop vectorization: a row of a recurrence in each lane.

- `recurrences`: loops that pass values on in order
- `choice`: whether rows run side by side
- `strips`: as many rows as vectors have lanes
- `recurrence_lanes`: a row in each lane
- `row_blocks`: a loop over rows in strips
"""

from __future__ import annotations
