"""Kernels of CUDA.

- `compilation`: PTX and machine code
- `tools`: the assembler and the disassembler of wheels
- `kernel`: a loaded kernel
- `tensor_maps`: what copies of boxes know of a tensor
- `engine`: a device's memory
"""

from __future__ import annotations
