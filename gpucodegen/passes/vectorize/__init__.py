"""Vectorization of affine loops."""

from __future__ import annotations

from gpucodegen.passes.vectorize.vectorize import Vectorize

__all__ = ["Vectorize"]
