"""Contractions: recognised from access relations, lowered by target.

- `collapse`: Fewer, longer axes: what a contraction repeats contiguously becomes one
  loop
- `cpu`: A contraction as CPU code
- `epilogue_fusion`: Epilogue fusion: nests around a contraction that touch single
  cells of its result
- `fusion_groups`: Fusion groups of a block: each contraction with the nests fused
  into it
- `gpu`: A contraction as a GPU kernel
- `isolate`: Contractions get nests of their own, wherever and however they are
  written
- `isolated_nest`: A nest inside of other loops, written as if it stood alone
- `operands`: Loops over axes of a contraction, or over parts of them
- `recognize`: Find contractions among affine nests, whatever operation they came from
- `reduction_to_memory`: Reduction to memory: what loops carry and accumulate, they
  accumulate in a cell
- `windows`: Factors that are images, over which a window slides
"""
