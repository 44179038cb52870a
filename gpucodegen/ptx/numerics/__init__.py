"""Arithmetic of PTX over NumPy values.

- `integers`: integers
- `bits`: bits of words
- `packs`: words made of narrower ones
- `rounding`: results rounded once
- `floats`: floats and their formats
- `codes`: floats of few bits
- `select`: one of two values for each lane
"""
