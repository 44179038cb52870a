"""The nvvm dialect: instructions of NVIDIA's GPUs that MLIR text names itself.

- `operations`: the table
"""

from __future__ import annotations
