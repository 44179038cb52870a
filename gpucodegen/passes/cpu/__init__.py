"""Mapping to the CPU: threads, vectors, kernels and host code."""
