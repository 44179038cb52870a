"""Arithmetic, comparisons and casts of scalars.

- `scalars`: arith and math
- `comparisons`: comparisons, and tests for NaN and infinity
- `casts`: conversions
- `complexes`: complex numbers
- `index_math`: affine.apply, min, max, and digits of indices
"""

from __future__ import annotations
