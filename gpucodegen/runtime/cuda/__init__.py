"""Kernels of CUDA."""
