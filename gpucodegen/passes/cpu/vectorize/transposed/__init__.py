"""Accesses along different dimensions: tiles transposed in registers."""

from __future__ import annotations
