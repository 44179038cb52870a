"""Affine maps, integer sets and subscripts."""

from __future__ import annotations
