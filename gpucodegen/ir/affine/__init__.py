"""Affine expressions, maps and integer sets."""

from __future__ import annotations
