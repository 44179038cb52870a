"""From a program of any dialect to affine loop nests on buffers.

- `stablehlo`, `tosa`: text of others as linalg on tensors
- `functions`: calls inlined, argument types fixed
- `launches`: hand-written kernels in one form
- `linalg`: structured operations as nests
- `memory`: tensors and layouts as plain buffers
- `affine`: loops and accesses made affine
"""

from __future__ import annotations
