"""Indices and views as integer relations."""

from __future__ import annotations
