"""Bufferization: tensors become buffers, updated in place where that is exact."""
