"""Launches: threads one after the other, which meet at barriers."""

from __future__ import annotations
