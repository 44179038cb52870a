"""Indices and views as integer relations.

- `expressions`: maps and sets as isl text
- `index_values`: values computed from loop variables
- `views`: another shape on a buffer
- `choices`: memrefs that are one of several
- `uniform`: what all threads of a block have alike
- `accesses`: the cells that an operation reads and writes
- `matrices`: those of matrices of a subgroup
"""

from __future__ import annotations
