"""Lines for the matrix units and copy engines of a GPU.

- `subgroups`: matrices of a warp
"""

from __future__ import annotations
