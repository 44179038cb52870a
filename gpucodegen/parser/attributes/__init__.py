"""Attributes, dense literals, locations and resources."""

from __future__ import annotations
