"""Lowering of contractions to GPU kernels."""
