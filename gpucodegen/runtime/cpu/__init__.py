"""Kernels on the CPU."""

from __future__ import annotations
