"""Arithmetic of numbers, and element by element of tiles.

- `reals`: formulas with the operators of Python
- `elementwise`: how operations are built, element by element
- `arithmetic`: integers and floats
- `extremes`: minima and maxima of integers
- `nan_aware`: minima and maxima of floats
- `functions`: functions of the math dialect
- `complexes`: complex numbers
- `small_floats`: floats that no instruction converts
- `single_bits`: floats of up to eight bits, by their bits
- `narrow`: floats of 16 bits and less
- `conversions`: conversions between element types
"""

from __future__ import annotations
