"""One kernel function as source.

- `kinds`: element types by the names that kernels use
- `spelling`: what differs between targets in the text
- `emissions`: a spelling, and a table of operations
- `reports`: words for accesses that were left out
- `variables`: which values share a Python variable
- `index_widths`: whether indices need 64 bits
- `writes`: which memrefs are written to
- `context`: the state of emission
- `kernel`: one function
"""

from __future__ import annotations
