"""Outer-loop vectorization: a row in each lane, so that each row keeps its order.

`outer_loop` is the form, and chooses the inner loops.  `recurrences` divides an inner
loop into what runs ahead along a row and a chain.  `strip_mining` cuts the loop over
rows into strips, `strip` is one.  `recurrence_lanes` runs a recurrence on a strip.
"""

from __future__ import annotations
