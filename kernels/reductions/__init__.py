"""Reductions over axes.

- `texts`: MLIR of nests that reduce
- `prepared`: calls of each, with types and texts
- `sums`: sums, products, extremes, means
- `places`: where extremes are
"""

from __future__ import annotations
