"""Affine operations to what machines have: blocks and branches, arithmetic, accesses.

- `control_flow`: Affine loops and conditions as ``scf`` ones, where a body must stay
  one block
- `expressions`: Affine operations without regions as ``arith``, ``memref`` and
  ``vector`` ones
- `passes`: The passes: which of the lowerings each one does, and where
"""

from __future__ import annotations

from gpucodegen.passes.lower_affine.passes import (
    LowerAffine,
    LowerAffineApply,
    LowerIfAndFor,
)

__all__ = ["LowerAffine", "LowerAffineApply", "LowerIfAndFor"]
