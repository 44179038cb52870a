"""Innermost loops whose iterations are independent become vector operations.

`operations`: what has a vector form.  `recognize`: loops made of it.  `widen`: their
bodies on vectors.  `loops`: full vectors and what is left.  `streams`: stores past the
caches.  `neighbours`: loads of one row beside one another; `sliding`: out of registers.
`planes`, `transposes`: two loops in tiles.  `accumulations`: loops that reduce.
`rows`: their partial results in lanes.  `records`, `keeping`: loops that keep the best
value and its place, and their lanes.  `recurrences`: loops that pass values on in
order.  `strips`, `abreast`: several rows of them side by side.  `row_blocks`,
`side_by_side`: the loops over rows, and whether they are cut.  `vectorize`: the pass.
"""

from __future__ import annotations

from gpucodegen.passes.cpu.vectorize.vectorize import Vectorize

__all__ = ["Vectorize"]
