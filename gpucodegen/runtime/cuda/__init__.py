"""Kernels of CUDA.

- `compilation`: PTX and machine code
- `tools`: the assembler and the disassembler of wheels
- `kernel`: a loaded kernel
- `engine`: a device's memory
"""

from __future__ import annotations
