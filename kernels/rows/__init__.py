"""Functions along one axis.

- `texts`: their MLIR
- `softmax`: softmax, running sums
- `norms`: normalisation
"""

from __future__ import annotations
