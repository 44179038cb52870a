"""Loops become vector operations.

- `accumulations`: What a form of vectorization is asked about: a loop, and what is
  known around it
- `argminmax`: The form of argmin and argmax: what each lane keeps, and the best of
  the lanes
- `innermost_loops`: The form of an innermost loop that is parallel: ``lanes``
  iterations at once
- `loops`: A vectorised loop: full vectors, and the iterations that are left in a
  shorter one
- `outer_loops`: The form of an outer loop with an iteration, a row, in each lane
- `recognize`: Which innermost loops have a vector form: their accesses and operations
- `recurrences`: A strip: as many rows of a loop over rows as vectors have lanes
- `reductions`: The form of a loop that accumulates: partial results in every lane
- `transposes`: Two loops, the stores follow one and some loads the other: tiles in
  registers
- `vectorize`: The pass: every loop takes the first of the `FORMS` that it has
"""

from __future__ import annotations

from gpucodegen.passes.vectorize.vectorize import Vectorize

__all__ = ["Vectorize"]
