"""linalg operations as affine nests."""

from __future__ import annotations
