"""CPU kernels: compilation, engine and thread pools."""
