"""From a program of any dialect to affine loop nests on buffers.

- `stablehlo`, `tosa`: text of others as linalg on tensors
- `boundaries`: what programs take, give and call outside
- `functions`: calls inlined, argument types fixed
- `launches`: hand-written kernels in one form
- `linalg`: structured operations as nests
- `tensors`: tensors as buffers
- `memory`: layouts as plain buffers
- `vectors`: vectors that registers do not hold, as buffers
- `affine`: loops and accesses made affine
"""

from __future__ import annotations
