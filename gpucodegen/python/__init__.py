"""`gpucodegen.jit`: translates Python functions with loops and arrays to MLIR."""
