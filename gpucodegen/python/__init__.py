"""`gpucodegen.jit`: Python functions with loops, indices and arrays as MLIR."""
