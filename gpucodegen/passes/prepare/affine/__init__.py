"""Loops, conditions and indices made affine, constants folded.

- `index_to_arith`: the index dialect in arith's operations
- `expand_operations`: what other operations express
- `loops_to_index`: loops over integers, signed or not, as loops over indices
- `widen_integers`: odd widths held by even ones
- `integer_rules`: what operations on those are
- `mem2reg`: cells of local buffers as values
- `index_conditions`: conditions on indices
- `raise_to_affine`: plain loops and accesses made affine
- `dead_code`: operations without use or effect
- `canonicalize`: constants folded, maps composed
"""

from __future__ import annotations
