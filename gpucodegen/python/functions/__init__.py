"""Functions of NumPy, ``math`` and Python, by the function object."""
