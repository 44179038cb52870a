"""Text of earlier years."""

from __future__ import annotations
