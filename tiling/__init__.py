"""Polyhedral analysis, scheduling, cost models and tuning, free of MLIR and Numba."""
