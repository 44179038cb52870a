"""MLIR text in, proven-legal tiled kernels out, on a GPU or on the CPU."""

from __future__ import annotations
