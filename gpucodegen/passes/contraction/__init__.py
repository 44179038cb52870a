"""Tensor contractions: recognition from access relations and lowering by target."""
