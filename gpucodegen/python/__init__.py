"""Python functions as MLIR: what `gpucodegen.jit` makes of loops, indices and arrays.

- `source`: the text of a function, with the lines of its file
- `values`: numbers and arrays, their types and what is computed of them
- `translation`: statements and expressions as arith, memref, linalg and scf
- `function`: `jit`, and the functions that it makes
- `build`: MLIR built by Python, step by step
"""
