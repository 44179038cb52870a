"""Innermost loops whose iterations are independent become vector operations.

`operations`: what has a vector form.  `recognize`: loops made of it.  `widen`: their
bodies on vectors.  `loops`: full vectors and what is left.  `streams`: stores past the
caches.  `neighbours`: loads of one row beside one another; `sliding`: out of registers.
`planes`, `transposes`: two loops in tiles.  `accumulations`: loops that reduce.
`rows`: their partial results in lanes.  `vectorize`: the pass.
"""

from __future__ import annotations

from gpucodegen.passes.vectorize.vectorize import Vectorize

__all__ = ["Vectorize"]
