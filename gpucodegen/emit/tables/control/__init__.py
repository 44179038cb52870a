"""Loops, branches and blocks."""

from __future__ import annotations
