"""Structured operations, by their maps and bodies at every point of their loops."""

from __future__ import annotations
