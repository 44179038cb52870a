"""Contractions: recognised from access relations, lowered by target.

`recognize` finds them in affine nests, `cpu` and `gpu` build the tiled kernels.
"""
