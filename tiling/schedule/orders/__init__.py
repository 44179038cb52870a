"""Orders that are found, not asked for.

- `isl_schedule`: the schedule that isl finds
- `own_loops`: steps along loops as they are written
"""

from __future__ import annotations
