"""Limits of a function's kernels on a GPU, estimated without one."""
