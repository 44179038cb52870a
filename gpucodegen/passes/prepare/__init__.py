"""From a program of any dialect to affine loop nests on buffers.

- `functions`: calls inlined, argument types fixed
- `launches`: hand-written kernels in one form
- `linalg`: structured operations as nests
- `tensors`: tensors as buffers
- `memory`: layouts as plain buffers
- `affine`: loops and accesses made affine
"""

from __future__ import annotations
