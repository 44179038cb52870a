"""MLIR in memory: types, attributes, affine values, locations and operations."""
