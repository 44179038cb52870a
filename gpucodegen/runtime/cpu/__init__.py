"""Kernels on the CPU.

- `helpers`: Numba's compiled helpers, loaded without Numba
- `object_file`: kernels for C
- `stored_kernels`: compiled kernels on disk
- `outline`: parallel loops as functions
- `kernels`: kernels compiled
- `arithmetic`: numbers of host programs
- `engine`: main memory
- `direct_call`: launches that check their arrays in machine code
"""

from __future__ import annotations
