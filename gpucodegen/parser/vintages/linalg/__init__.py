"""linalg of 2019 to 2025."""

from __future__ import annotations
