"""Calls of a compiled function."""

from __future__ import annotations
