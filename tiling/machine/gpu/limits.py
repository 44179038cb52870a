"""What launches on a GPU may be: facts of the CUDA programming guide's tables."""

from __future__ import annotations

GRID = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z."""

STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a block may have without asking for more."""
