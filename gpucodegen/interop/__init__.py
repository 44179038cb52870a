"""Functions of programs in JAX, PyTorch and dask, which are imported on first use."""
