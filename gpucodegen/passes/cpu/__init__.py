"""Mapping to the CPU: threads, vectors, kernels and the host around them."""
