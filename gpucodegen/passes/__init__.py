"""Passes: module to module rewrites, one stage each.

- `framework`: what every pass needs
- `checks`: what is wrong with a program or with its mapping
- `prepare`: any program to affine nests on buffers
- `analysis`: what is proven of functions and nests
- `loops`: classic transformations of chosen loops
- `contraction`: products and convolutions
- `cpu`: nests to threads and vectors
- `gpu`: nests to grids, blocks and threads
- `lower_affine`: affine operations to what machines have
"""
