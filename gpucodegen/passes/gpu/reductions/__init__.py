"""Reductions on a GPU: rows, columns and whole arrays, and chains of a row.

- `rows`: nests as parallel loops around a program for each of their iterations
- `free_reductions`: loops whose terms may be combined in any order
- `row_teams`: a block or a warp for each row
- `column_teams`: lanes along columns, the rows of a column dealt out
- `splits`: parts of long reductions, and what combines them
"""

from __future__ import annotations
