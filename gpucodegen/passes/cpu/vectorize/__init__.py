"""Innermost loops whose iterations are independent become vector operations.

- `operations`: what has a vector form
- `recognize`: loops made of it
- `widen`: their bodies on vectors
- `streams`: stores past the caches
- `windows`: neighbours in a row, loaded once
- `loops`: full vectors, and what is left
- `interleaving`: several strips of a range at once
- `transposed`: two loops in tiles
- `rows`: loops that reduce
- `outer_loops`: several rows of a recurrence side by side
- `vectorize`: the pass
"""

from __future__ import annotations

from gpucodegen.passes.cpu.vectorize.vectorize import Vectorize

__all__ = ["Vectorize"]
