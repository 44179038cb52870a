"""Vectors: every operation is one call of an intrinsic.

- `types`: shape, element and constants of a vector type
- `accesses`: rows, columns and tiles in memory
- `vectors`: register tiles as values
"""

from __future__ import annotations
