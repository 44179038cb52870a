"""One kernel function as source.

- `kinds`: element types by the names that kernels use
- `target`: what differs between targets
- `reports`: words for accesses that were left out
- `variables`: which values share a Python variable
- `context`: the state of emission
- `kernel`: one function
"""

from __future__ import annotations
