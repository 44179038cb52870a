"""What launches on a GPU may be: facts of CUDA since compute capability 3."""

from __future__ import annotations

GRID = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z."""
