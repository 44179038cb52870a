"""Lowering of contractions to CPU code."""
