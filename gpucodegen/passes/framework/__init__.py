"""What every pass needs: the base class, the registry, builders, index arithmetic.

- `base`: what a pass is
- `registry`: all passes by name
- `pipeline_text`: pipelines as text
- `reachable`: what one function needs
- `functions`: bodies rewritten, definitions and uses
- `nests`: perfect nests with constant ranges
- `map_operands`: maps rebuilt after a change of indices
- `indexing`: index arithmetic
- `operation_list`: an open list of operations
- `builder`: operations of kernels
- `vector_builder`: operations on vectors
- `wishes`: plans that a pass is asked for
"""

from __future__ import annotations
