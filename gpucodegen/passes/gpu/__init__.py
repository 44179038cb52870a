"""Mapping to the GPU: grids, blocks, threads and the host around them."""
