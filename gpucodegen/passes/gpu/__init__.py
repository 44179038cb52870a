"""Mapping to the GPU: grids, blocks, threads and host code."""
