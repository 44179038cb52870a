"""StableHLO, and what JAX prints of CHLO, as far as it means linalg on tensors.

- `names`: operations by their shape: of one number, of two, without a way to run
- `words`: words and lists inside attributes
- `syntax`: the short forms
- `regions`: the short forms with regions
- `operations`: the table
"""
