"""Reductions along a row, on vectors.

`argminmax` recognizes argmin and argmax.  `vector_range` cuts the row.  `reduction` and
`argminmax_lanes` are the forms of totals, and of those.
"""

from __future__ import annotations
