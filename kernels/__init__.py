"""Ready-made operations: MLIR sources and thin typed wrappers on the public API.

Comes in: NumPy or CuPy arrays.  Goes out: arrays of the same library.
"""

from __future__ import annotations

from gpucodegen.kernels.convolutions import conv2d
from gpucodegen.kernels.products import matmul

__all__ = ["conv2d", "matmul"]
