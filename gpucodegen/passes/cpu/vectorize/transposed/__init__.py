"""Accesses along different dimensions: tiles transposed in registers.

- `accesses`: nests whose accesses move with both loops
- `relays`: tiles on their way to rows of cache lines
- `transposes`: tiles transposed in registers
- `mirrors`: a triangle and its mirror image
"""

from __future__ import annotations
