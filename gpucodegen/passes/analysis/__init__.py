"""What `tiling` proves of a function, asked and answered by operation.

- `lifting`: functions and nests as relations
- `queries`: what `tiling` proves of them, by operation
- `launches`: how often a host program launches each kernel
- `work`: how much a nest computes
- `dependence_pairs`: dependences of all pairs of accesses
"""

from __future__ import annotations
