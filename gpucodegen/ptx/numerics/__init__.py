"""Arithmetic of PTX over NumPy values.

- `integers`: integers and bits
- `floats`: floats, rounded as the hardware does
- `select`: one of two values for each lane
"""
