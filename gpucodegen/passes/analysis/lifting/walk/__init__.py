"""The walk over a region: its loops, conditions and statements as a tree."""

from __future__ import annotations
