"""Numbers and strings of constants, as bytes and as text.

- `counting`: limits of the indices of kernels for CUDA
- `float_formats`: bit layouts of all float types
- `literals`: numbers and strings as text
- `packing`: dense elements as bytes
"""

from __future__ import annotations
