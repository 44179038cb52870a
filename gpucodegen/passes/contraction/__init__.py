"""Contractions: recognised from access relations, lowered by target.

- `recognition`: contractions among nests, each in a nest of its own
- `fusion`: what stands around one, computed in its tiles
- `cpu`: a contraction as CPU code
- `gpu`: a contraction as a GPU kernel
- `fragments`: what of that tensor cores compute
- `in_blocks`: products of tiles that a program brings to shared memory itself
- `warpgroups`: what of that four warps compute together, on sm_90
"""
