"""Grids and places.

- `stencils`: weighted sums of neighbours, over steps
- `indexed`: elements at places that arrays tell
"""

from __future__ import annotations
