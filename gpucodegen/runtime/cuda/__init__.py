"""Kernels of CUDA.

- `compilation`: PTX and machine code
- `kernel`: a loaded kernel
- `engine`: a device's memory
"""

from __future__ import annotations
