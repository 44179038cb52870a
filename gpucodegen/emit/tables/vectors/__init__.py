"""Vectors: every operation is one call of an intrinsic."""

from __future__ import annotations
