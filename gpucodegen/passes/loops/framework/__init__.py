"""Loops chosen by name, asked for legality, and replaced."""

from __future__ import annotations
