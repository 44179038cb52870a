"""Transfers that run while the computation before them does."""

from __future__ import annotations

from gpucodegen.passes.gpu.overlap.overlap import OverlapTransfers

__all__ = ["OverlapTransfers"]
