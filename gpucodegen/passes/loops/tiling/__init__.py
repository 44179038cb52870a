"""Rectangular tiles of bands, and wavefronts of tiles over time."""

from __future__ import annotations
