"""Plans for a GPU, and its limits."""

from __future__ import annotations
