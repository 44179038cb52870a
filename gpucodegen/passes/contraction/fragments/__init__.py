"""A contraction on tensor cores: warps hold fragments of matrices.

- `factors`: which contractions these compute, and in which type the factors are
- `tf32`: numbers of f32 as sums of such
- `sides`: fragments from shared memory
- `multiply`: their products
- `result`: sums through shared memory to the result, a row of 16 bytes a thread
"""

from __future__ import annotations
