"""Plans of other loops on a CPU: vectors, rows, streams, time tiles.

- `vector_plan`: lanes of an innermost loop
- `row_plan`: reductions along rows
- `strip_plan`: several strips of a stream
- `streaming_stores`: stores past the caches
- `time_cost`: what tiles of time cost
- `time_plan`: which time loops to tile
"""

from __future__ import annotations
