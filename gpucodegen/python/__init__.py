"""Python functions as MLIR: what `gpucodegen.jit` makes of loops, indices and arrays.

A function passes through here in this order:

- `source`: its text and syntax tree, with the lines of its file
- `ways`: jumps written as branches, and which variables are read later
- `types`: types of arguments and annotations, promotion after NumPy
- `scalars`: numbers, known or computed, and what converts them
- `elementwise`: operators and functions of numbers, a row each
- `arrays`: views, and whole-array expressions as linalg
- `reductions`: sums, extremes and products of arrays
- `indexing`: subscripts, read and written
- `calls`: functions of NumPy, of `math` and of Python, a row each
- `expressions`: the value of an expression
- `statements`: loops, branches, assignments
- `function`: `jit`, and the functions that it makes
"""
