"""The polyhedral model: a program part as integer relations, on isl.

- `scop`: statements, domains, accesses
- `isl`: the door to isl
- `isl_forms`: isl's objects as plain values
- `places`: loops and conditions around a statement
- `aliases`: arrays that may overlap
- `relations`: a `Scop` as relations
- `translation`: accesses up to a shift
- `summary`: a part as one statement
- `points`: executions at given sizes
"""

from __future__ import annotations
