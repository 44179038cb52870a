"""vector: every operation on NumPy arrays."""

from __future__ import annotations
