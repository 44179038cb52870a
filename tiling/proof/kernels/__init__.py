"""Mapped kernels: races, barriers, asynchronous copies."""

from __future__ import annotations
