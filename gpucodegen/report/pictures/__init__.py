"""Pictures of iteration spaces, mappings and schedule trees, as SVG."""

from __future__ import annotations
