"""Reductions along a row, on vectors."""

from __future__ import annotations
