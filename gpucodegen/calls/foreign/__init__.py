"""Arguments that no kernel takes as they are: other libraries' arrays, other strides.

`libraries`
    Arrays of PyTorch and JAX as memory, and results as theirs.
`taken`
    A call with such arrays, and results where the caller wants them.
`copies`
    A call on contiguous copies, where no kernel keeps to the strides of an array.
"""
