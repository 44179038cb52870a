"""Sums of products.

- `texts`: MLIR of contractions
- `matmul`: matrices and vectors
- `paths`: the order of several factors
- `einsum`: Einstein's notation
- `attention`: products around a softmax
"""

from __future__ import annotations
