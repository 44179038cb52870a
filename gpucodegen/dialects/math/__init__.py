"""The math dialect."""

from __future__ import annotations
