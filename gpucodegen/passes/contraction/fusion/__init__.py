"""What stands around a contraction, computed in its tiles: prologue and epilogue.

- `alignment`: whether a nest goes through the cells of a result
- `pointwise`: scalar operations on whole tiles
- `epilogue_fusion`: nests that touch single cells of a result
- `start`: what the cells hold before, and what becomes of it
- `fusion_groups`: a list of nests with the groups in it
"""

from __future__ import annotations
