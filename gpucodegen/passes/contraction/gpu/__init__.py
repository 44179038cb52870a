"""A contraction as a GPU kernel."""

from __future__ import annotations
