"""Vectors that no register holds: buffers, and loops over their elements.

- `needed`: which functions have such vectors
- `boxes`: a vector as a buffer; loops over its elements
- `movement`: operations that copy, arrange or make elements
- `accesses`: loads and stores, with masks and padding
- `products`: products, contractions, reductions, scans
- `carried`: loops, branches, calls and functions that carry vectors
- `vectors_to_memory`: the pass
"""

from __future__ import annotations
