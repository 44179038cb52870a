"""Outlining of kernels from functions: GPU launches, CPU kernels and shared parts."""
