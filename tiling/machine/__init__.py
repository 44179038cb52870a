"""Cost models of CPUs and GPUs, and the plans of kernels that they choose."""
