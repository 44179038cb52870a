"""Kernels cut out of functions: launches on a GPU, kernels of a CPU, what both need."""
