"""Arithmetic of numbers, and element by element of tiles."""

from __future__ import annotations
