"""What limits the kernels of a function on a GPU, found without one."""
