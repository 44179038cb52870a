"""Factors read in place, or copied to panels first.

- `padding`: zeros around an array
- `transposed_packing`: factors contiguous along the other axis
- `pixels`: panels that run on across rows of an image
- `im2row`: lines of an image beside one another
- `packing`: where a register tile reads its factors
"""

from __future__ import annotations
