"""Arithmetic, comparisons and casts of scalars."""

from __future__ import annotations
