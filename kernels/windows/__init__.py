"""Sliding windows.

- `geometry`: layouts, padding, extents
- `texts`: MLIR of padded images, filters, pooling
- `sources`: the ``.mlir`` files of planes
- `forms`: a convolution of groups
- `convolutions`: convolutions
- `transposed`: their transposes
- `pooling`: the largest and the mean
"""

from __future__ import annotations
