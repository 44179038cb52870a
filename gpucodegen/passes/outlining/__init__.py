"""Kernels cut out of functions: launches on a GPU, kernels of a CPU, what both need.

- `cpu_outliner`: Kernels of the CPU and the function around them, of every function
- `gpu_launch`: Operations with a grid turned into a ``gpu.func`` and its launch on
  the host
- `kernel_operations`: Scalar operations between nests: a kernel runs them on its way
- `transfer_spans`: Nests that a block runs: fast memory is in them, or transfers
  between them
- `vector_width`: How many elements an access may move at once along a loop: 16 bytes
  at best
"""

from __future__ import annotations
