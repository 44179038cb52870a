"""What `tiling` proves of a function, asked and answered by operation.

- `lifting`: MLIR regions lifted to the polyhedral model of `gpucodegen.tiling`
- `place_allocations`: Allocations at fixed addresses (``alloc_static`` of 2019) share
  memory that overlaps
- `queries`: Exact dependences between all pairs of accesses, as MLIR's own check
  lists them
- `work`: How often a host program launches each kernel, counted without running it
"""

from __future__ import annotations
