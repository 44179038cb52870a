"""Kernels of CUDA."""

from __future__ import annotations
