"""The named structured operations: maps, loops and scalar bodies, as tables."""

from __future__ import annotations
