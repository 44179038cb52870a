"""Packages of generated kernels that run without this one."""
