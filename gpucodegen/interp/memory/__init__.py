"""Buffers: memref, bufferization, transfers, the accesses of affine."""

from __future__ import annotations
