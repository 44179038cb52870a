"""Vectors that no register holds: buffers, and loops over their elements.

- `boxes`: Loops, branches, calls and functions that carry vectors: buffers carry them
- `movement`: Loads and stores of vectors, element by element, with masks and padding
- `products`: Products, contractions, reductions and scans of vectors, as loops
- `vectors_to_memory`: Vectors that registers do not hold become buffers, and loops
  over their elements
"""

from __future__ import annotations
