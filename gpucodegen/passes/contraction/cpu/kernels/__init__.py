"""Kernels of contractions besides register tiles, a module for each kind.

| module | kernel |
|---|---|
| `depthwise` | windows over one channel each |
| `dot_sides`, `dots` | inner products, and which factor is which side of them |
| `transposed_result` | a result that is computed transposed |
| `split_k` | partial results of parts of the reduction |
"""

from __future__ import annotations
