"""Tiles of arrays copied to fast memory, and the accesses that go there instead."""

from __future__ import annotations

from gpucodegen.passes.gpu.promote.promote import Promote

__all__ = ["Promote"]
