"""Contractions found among affine nests, whatever operation they came from.

- `reduction_to_memory`: sums that loops carry become sums in memory
- `expansion`: small buffers get the iteration as a dimension
- `domain`: a box, and what cuts corners off it
- `operands`: which elements a factor is
- `image`: factors that are images
- `multiply_add`: one cell gets a product added
- `alone`: a nest inside of others as if it stood alone
- `recognize`: a nest as a contraction
- `windows`: indices that move with several axes
- `collapse`: fewer, longer axes
- `offsets`: what zero points add
- `isolate`: each contraction in a nest of its own
"""

from __future__ import annotations
