"""Arithmetic of PTX over NumPy values."""
