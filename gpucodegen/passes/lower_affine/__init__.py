"""Lowering of the affine dialect to loops or branches, arithmetic and accesses."""

from __future__ import annotations

from gpucodegen.passes.lower_affine.passes import (
    LowerAffine,
    LowerAffineApply,
    LowerIfAndFor,
)

__all__ = ["LowerAffine", "LowerAffineApply", "LowerIfAndFor"]
