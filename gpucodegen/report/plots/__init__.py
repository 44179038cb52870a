"""Plots of tunings by matplotlib: PNG or SVG files, or parts of a page."""

from __future__ import annotations

KINDS = "trials", "heatmap", "parallel", "roofline"
"""Pictures; each is drawn by the module of its name."""
