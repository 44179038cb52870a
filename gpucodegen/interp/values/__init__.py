"""What values of MLIR are while a module runs: numbers, arrays, buffers.

- `elements`: numbers in arrays, bit for bit
- `floats`: rounding to a format
- `constants`: from attributes
- `buffers`: memrefs
- `written`: what of fresh memory holds values
- `not_numbers`: NaN that is made
- `indices`: of loops and maps
- `elementwise`: functions of numbers on arrays
"""

from __future__ import annotations
