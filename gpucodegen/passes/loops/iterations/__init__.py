"""The iterations of one loop: unrolled, peeled, split, coalesced.

- `normalize_loops`: lower bound 0 and step 1
- `flat_nest`: a nest with fewer dimensions
- `coalesce`: two loops as one
- `peel`: the first or last iterations
- `split_index_set`: up to a point, and from there
- `unroll`: several iterations in one
- `unroll_and_jam`: outer iterations in inner loops
- `jam_rows`: several rows of a reduction
"""

from __future__ import annotations
