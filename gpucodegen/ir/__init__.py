"""MLIR in memory: types, attributes, affine values, locations and operations.

No knowledge of single operations lives here; that is ``gpucodegen.dialects``.
"""
