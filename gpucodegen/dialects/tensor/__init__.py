"""The tensor dialect."""

from __future__ import annotations
