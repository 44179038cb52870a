"""Functions of programs in other frameworks; none of these is imported before use.

`functional`
    A function without side effects: what it writes is a result.
`jax`
    Calls under `jax.jit` and `jax.grad`.
`torch`
    Operators of PyTorch, also under `torch.compile`.
`dask`
    Arrays in blocks, on many workers.
"""

from __future__ import annotations
