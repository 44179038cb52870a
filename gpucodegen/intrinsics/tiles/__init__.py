"""Tiles in registers: memory, lanes, reductions."""

from __future__ import annotations
