"""A contraction as CPU code."""

from __future__ import annotations
