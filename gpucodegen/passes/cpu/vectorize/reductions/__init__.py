"""Reductions along a row, on vectors.

`accumulations` recognizes totals, `argminmax` argmin and argmax.  `vector_range` cuts
the row.  `reduction` and `argminmax_lanes` are the forms of both.
"""

from __future__ import annotations
