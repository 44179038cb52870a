"""Devices that execute CUDA kernels: a GPU through CuPy, and the emulated device."""
