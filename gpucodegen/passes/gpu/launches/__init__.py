"""Kernels and their launches.

- `gpu_launch`: the kernel and its launch
- `grid_chunks`: more blocks than hardware takes at once
"""

from __future__ import annotations
