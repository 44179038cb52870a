"""The cf dialect: branches between blocks."""

from __future__ import annotations
