"""Packages and files of generated kernels that run without gpucodegen."""
