"""Vectors in memory: loads, stores, masks, transfers."""

from __future__ import annotations
