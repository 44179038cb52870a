"""What programs call that they do not define, as MLIR's runner offers it."""
