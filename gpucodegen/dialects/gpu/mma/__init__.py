"""Matrix fragments of a warp."""

from __future__ import annotations
