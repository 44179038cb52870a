"""What operations of several dialects have in common."""

from __future__ import annotations
