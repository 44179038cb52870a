"""Neighbours in a row, loaded once."""

from __future__ import annotations
