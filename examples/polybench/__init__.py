"""The thirty kernels of PolyBench as MLIR, and the same loops in Python."""

from __future__ import annotations
