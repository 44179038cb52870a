"""Accesses, local buffers, views and transfers."""

from __future__ import annotations
