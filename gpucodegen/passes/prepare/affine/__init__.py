"""Loops, conditions and indices made affine, constants folded."""

from __future__ import annotations
