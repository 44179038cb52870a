"""Decides what may be done to a loop nest: dependences, legality, footprints, races.

Comes in: a `Scop` (see `gpucodegen.tiling.scop`). Goes out: verdicts, each refusal with
a witness, and plans of legal tiles. This package knows nothing of MLIR or of Numba.
"""
