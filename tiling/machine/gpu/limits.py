"""What launches on a GPU may be: facts of the CUDA programming guide's tables."""

from __future__ import annotations

GRID = (2**31 - 1, 65535, 65535)
"""Most blocks along x, y and z."""

WARP = 32
"""Threads of a warp, which MLIR calls a subgroup."""

WARPGROUP = 4 * WARP
"""Threads of a warpgroup, four warps that multiply together."""

STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a block may have without asking for more."""

WIDEST = 16
"""Bytes of the widest access of one thread, which divide its address."""

ALLOCATED = 256
"""Bytes that divide the addresses of what is allocated: CUDA guide, "Device Memory"."""
