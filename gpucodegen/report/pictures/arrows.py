"""Arrows from rim to rim of two points, and what their colours mean."""

from __future__ import annotations

from math import hypot

from gpucodegen.report.pictures import svg
from gpucodegen.report.pictures.svg import Element, Place

RADIUS = 6.0
"""Of a point."""
LONG = 60.0
"""Longer arrows are bent, so that they do not hide behind the points between."""


def arrow(start: Place, end: Place, cls: str, *, bold: bool = False) -> Element:
    """A line with a head; ``bold`` for what must be seen first."""
    ux, uy, length = _direction(start, end)
    bend = 0.16 * length if length > LONG else 0.0
    middle = (
        (start[0] + end[0]) / 2 - uy * bend,
        (start[1] + end[1]) / 2 + ux * bend,
    )
    hx, hy, _ = _direction(middle, end)
    gap, head = RADIUS + 1.5, 8.0 if bold else 6.0
    tip = (end[0] - hx * gap, end[1] - hy * gap)
    base = (tip[0] - hx * head, tip[1] - hy * head)
    wing = head * 0.45
    path = (
        f"M{start[0] + ux * gap:.1f} {start[1] + uy * gap:.1f}"
        f"Q{middle[0]:.1f} {middle[1]:.1f} {base[0]:.1f} {base[1]:.1f}"
    )
    corners = (
        tip,
        (base[0] - hy * wing, base[1] + hx * wing),
        (base[0] + hy * wing, base[1] - hx * wing),
    )
    line = svg.element("path", cls, d=path, stroke_width=2.6 if bold else 1.3)
    return svg.group("arrow", [line, svg.polygon(corners, f"{cls}-head")])


def _direction(start: Place, end: Place) -> tuple[float, float, float]:
    """A unit vector and the distance."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy) or 1.0
    return dx / length, dy / length, length
