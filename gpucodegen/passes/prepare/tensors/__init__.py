"""Tensors as buffers, updated in place where that is exact."""
