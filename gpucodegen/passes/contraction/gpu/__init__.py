"""A contraction as a GPU kernel.

- `forms`: whether one pays
- `axes`: rows, columns, reduction and batch as four indices
- `result_tile`: what one thread holds in registers
- `kernel`: shared-memory tiles, a register tile for each thread
"""

from __future__ import annotations
