"""Copies between the memories of a GPU.

- `promote`: tiles copied to fast memory
- `overlap`: transfers during computation
"""

from __future__ import annotations
