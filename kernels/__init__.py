"""Ready-made operations: MLIR sources and thin typed wrappers on the public API.

Comes in: NumPy or CuPy arrays.  Goes out: arrays of the same library.

- `arrays`: what is asked of an array library
- `sources`: the ``.mlir`` files, with other aliases put in
- `windows`: the geometry of a sliding window
- `calls`: calls for operands of known shapes
- `products`: ``matmul``
- `convolutions`: ``conv2d``
"""

from __future__ import annotations

from gpucodegen.kernels.convolutions import conv2d
from gpucodegen.kernels.products import matmul

__all__ = ["conv2d", "matmul"]
