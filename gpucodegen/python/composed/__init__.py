"""NumPy's functions as programs of NumPy that `jit` compiles in place of a call."""
