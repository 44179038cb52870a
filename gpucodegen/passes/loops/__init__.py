"""Classic restructuring of ``affine.for`` loops: one pass a file."""
