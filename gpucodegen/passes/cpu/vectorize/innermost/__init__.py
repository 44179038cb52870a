"""Parallel innermost loops on vectors; loads of neighbours kept in registers.

- `neighbour_loads`: loads of neighbours in a row
- `sliding`: each cell of a row loaded once
- `innermost_loop`: a parallel loop on vectors
"""

from __future__ import annotations
