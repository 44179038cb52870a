"""Passes: module to module rewrites, one stage each.

- `analysis`: What `tiling` proves of a function, asked and answered by operation
- `checks`: What is wrong with a program, or with a mapping of it: errors and warnings
- `contraction`: Contractions: recognised from access relations, lowered by target
- `cpu`: Mapping to the CPU: threads, vectors, kernels and the host around them
- `framework`: What every pass needs: the base class, the registry, builders, index
  arithmetic
- `gpu`: Mapping to the GPU: grids, blocks, threads and the host around them
- `loops`: Classic restructuring of ``affine.for`` loops: one pass a file
- `lower_affine`: Affine operations to what machines have: blocks and branches,
  arithmetic, accesses
- `nests`: Loops chosen by name, asked for legality, distributed and replaced
- `outlining`: Kernels cut out of functions: launches on a GPU, kernels of a CPU, what
  both need
- `prepare`: From a program of any dialect to affine loop nests on buffers
- `vectorize`: Loops become vector operations
"""
