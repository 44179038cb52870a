"""Pieces of Python source."""

from __future__ import annotations
