"""Parallel innermost loops on vectors; loads of neighbours kept in registers."""

from __future__ import annotations
