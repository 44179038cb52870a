"""Tuning: knobs, the space of their values, search, verdict, store."""

from __future__ import annotations
