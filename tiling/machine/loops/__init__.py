"""Plans of loops on a CPU, from facts of the processor.

`time_plan` chooses the tiles of time loops by `time_cost`.  `vector_plan` says which
innermost loops become vectors, `outer_loop_plan` where lanes take rows instead, and
`accumulators` how many partial results a reduction keeps.  `streaming_stores` says
which stores go past the caches.
"""

from __future__ import annotations
