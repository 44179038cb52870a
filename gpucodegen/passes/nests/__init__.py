"""Loops chosen by name, asked for legality, distributed and replaced.

- `distribution`: The pass `distribute`: a loop becomes one loop per part of its body
- `loop_names`: Asks `tiling` about loops of a function and turns its refusals into
  errors
- `loop_ranges`: Perfectly nested loops, after scalar operations between them sank
  into the body
- `loop_rewriting`: Carries out the rewriting of chosen loops of a module
"""

from __future__ import annotations
