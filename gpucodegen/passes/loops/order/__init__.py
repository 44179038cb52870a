"""The order of iterations: interchange, fusion, distribution, skewing.

- `interchange`: another order of loops
- `distribution`: which parts of a body get a nest
- `distribute`: a loop for each part, on request
- `fusion`: two loops as one, where legal
- `fuse`: all neighbours with the same bounds
- `fuse_elementwise`: parallel neighbours that use the same data
- `locality_fusion`: neighbours that use the same data
- `best_order`: orders by the cache lines that they touch
- `better_block`: the nests of a block in such orders, and fused
- `improve_locality`: which loop runs innermost
- `asked`: orders and fusions that a caller asks for
- `skew`: multiples of outer loops added
"""

from __future__ import annotations
