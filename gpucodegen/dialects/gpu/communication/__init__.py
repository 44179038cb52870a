"""Shuffles, reductions and votes of a warp or a block."""

from __future__ import annotations
