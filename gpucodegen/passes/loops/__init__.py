"""Classic restructuring of ``affine.for`` loops: one pass a file.

Every pass proves its own legality by asking `gpucodegen.tiling` and refuses with a
reason and, where there is one, a witness.  How a loop is named: `naming`.
"""
