"""Vectors in another shape or order."""

from __future__ import annotations
