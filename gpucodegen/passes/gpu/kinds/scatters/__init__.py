"""Loops of updates of cells that data choose: each block has cells of its own.

- `problem`: which loops these are, and what their plan depends on
- `pieces`: all iterations in pieces, which some blocks walk
- `own_cells`: the cells of a block, from their first value to what they send
- `kind`: the kernel
"""

from __future__ import annotations
