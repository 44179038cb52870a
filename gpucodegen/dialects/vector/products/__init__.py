"""Contractions, outer products and reductions of vectors."""

from __future__ import annotations
