"""Kernels on a GPU: checked, timed against the vendor's libraries, beside the estimate.

- `texts`: MLIR for extents by name
- `kernel`: what is known of one kernel: text, arguments, answer, work, peers
- `products`: products and convolutions
- `memory_bound`: elementwise, transposes, reductions, rows
- `kernels`: the table of all
- `peers`: the same work by cuBLAS, cuDNN, CuPy, PyTorch and Triton
- `triton_kernels`: a product and a softmax in Triton
- `device`: the GPU that is there, its clock and its facts
- `measuring`: checks, races and estimates, row by row
- `launches`: what the host takes
- `results`: rows as text and as files
- `operation_problems`: single operations at the shapes of a public benchmark
- `single_operations`: their table by the report, which needs no GPU
- `session`: one call that does it all
"""

from __future__ import annotations
