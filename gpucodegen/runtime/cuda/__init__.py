"""CUDA kernels: compilation, engine and launches."""
