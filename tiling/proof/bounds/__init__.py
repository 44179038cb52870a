"""Accesses outside of their array, and the conditions that exclude them."""

from __future__ import annotations
