"""Library of functions that MLIR's runner provides: prints, checks and clocks."""
