"""Nests that reduce rows, columns and whole arrays, and chains of a row.

- `program`: parallel loops around a program for each of their iterations
- `problems`: what plans depend on
- `row_teams`: a block or a warp for each row
- `row_results`: what ends the rows of a block, for several of them at once
- `late_starts`: reductions that add what they start from at their end
- `column_teams`: lanes along columns, the rows of a column dealt out
- `splits`: parts of long reductions, and what combines them
- `scan_parts`: the same for scans, and what goes over their parts again
- `kind`: which of them a nest becomes
"""

from __future__ import annotations
