"""The roofline plot of a run: work per byte against work per second.

The roofs are what this machine was measured to do; a program on a roof has nothing left
to gain.  Both axes are logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpucodegen.report.pictures.svg import (
    PALETTE,
    Element,
    Place,
    document,
    element,
    line,
    text,
    written,
)

WIDTH, HEIGHT = 860.0, 520.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 220.0, 50.0, 50.0
LOWEST = (2.0**-5, 2.0**-1)
"""Work per byte and GFLOP/s at the origin."""


@dataclass(frozen=True, slots=True)
class Point:
    """A program: where it stands, and who it is."""

    name: str
    table: str
    threads: int
    intensity: float
    rate: float


@dataclass(frozen=True, slots=True)
class Roof:
    """``peak`` GFLOP/s of a type, and the bandwidth in GB/s below it."""

    name: str
    peak: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Axes:
    """Logarithmic axes from `LOWEST` to the largest values."""

    highest: Place

    def at(self, intensity: float, rate: float) -> Place:
        """A place on paper."""
        x = self._share(intensity, 0) * (WIDTH - LEFT - RIGHT)
        y = self._share(rate, 1) * (HEIGHT - TOP - BOTTOM)
        return LEFT + x, HEIGHT - BOTTOM - y

    def _share(self, value: float, axis: int) -> float:
        low, high = LOWEST[axis], self.highest[axis]
        return math.log2(max(value, low) / low) / math.log2(high / low)

    def powers(self, axis: int) -> Iterator[float]:
        """Every second power of two."""
        first = round(math.log2(LOWEST[axis]))
        last = math.floor(math.log2(self.highest[axis]))
        return (2.0**n for n in range(first, last + 1, 2))


def roofline(results: dict[str, Any]) -> str:
    """The picture as SVG text."""
    points, roofs = list(_points(results)), _roofs(results)
    peak = max([roof.peak for roof in roofs], default=100.0)
    axes = Axes((2.0**10, 1.6 * peak))
    tables = list(dict.fromkeys(point.table for point in points))
    title = f"{results['machine']['processor']}, {results['date']}"
    body = [
        text((LEFT, 28), title, "head"),
        *_grid(axes),
        *(shape for roof in roofs for shape in _roof(axes, roof)),
        *(_dot(axes, point, tables.index(point.table)) for point in points),
        *_legend(tables),
    ]
    return written(document((WIDTH, HEIGHT), f"Roofline of {title}", body))


def _points(results: dict[str, Any]) -> Iterator[Point]:
    for table in results["tables"]:
        for row in table["rows"]:
            if row.get("flops") and row["bytes"]:
                ours, *_ = row["seconds"].values()
                yield Point(
                    row["name"],
                    table["table"],
                    table["threads"],
                    row["flops"] / row["bytes"],
                    row["flops"] / ours["best"] / 1e9,
                )


def _roofs(results: dict[str, Any]) -> Sequence[Roof]:
    """The highest of the ceilings that the tables were measured under."""
    highest: dict[tuple[int, str], float] = {}
    for table in results["tables"]:
        for kind, value in table.get("ceilings", {}).items():
            key = table["threads"], kind
            highest[key] = max(value, highest.get(key, 0.0))
    return [
        Roof(f"{kind}, threads: {threads}", peak, highest[threads, "copy"])
        for (threads, kind), peak in highest.items()
        if kind != "copy"
    ]


def _grid(axes: Axes) -> Iterator[Element]:
    for value in axes.powers(0):
        bottom, top = axes.at(value, LOWEST[1]), axes.at(value, axes.highest[1])
        yield line(bottom, top, "grid")
        yield text((bottom[0], bottom[1] + 18), f"{value:g}", "soft", "middle")
    for value in axes.powers(1):
        start, end = axes.at(LOWEST[0], value), axes.at(axes.highest[0], value)
        yield line(start, end, "grid")
        yield text((start[0] - 8, start[1] + 4), f"{value:g}", "soft", "end")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield text((middle, HEIGHT - 12), "operations per byte", "soft", "middle")
    yield text((12, TOP - 8), "GFLOP/s", "soft")


def _roof(axes: Axes, roof: Roof) -> Iterator[Element]:
    ridge = roof.peak / roof.bandwidth
    low = LOWEST[0]
    yield line(axes.at(low, low * roof.bandwidth), axes.at(ridge, roof.peak), "order")
    end = axes.at(axes.highest[0], roof.peak)
    yield line(axes.at(ridge, roof.peak), end, "order")
    yield text((end[0] + 6, end[1] + 4), f"{roof.name}: {roof.peak:.0f}", "soft")


def _dot(axes: Axes, point: Point, colour: int) -> Element:
    """A program: larger with more threads, its name and figures on hovering."""
    x, y = axes.at(point.intensity, point.rate)
    dot = element(
        "circle", f"hue{colour % len(PALETTE)}", cx=x, cy=y, r=2.5 + point.threads
    )
    label = element("title")
    label.text = f"{point.name}, {point.threads} threads: {point.rate:.1f} GFLOP/s"
    dot.append(label)
    return dot


def _legend(tables: Sequence[str]) -> Iterator[Element]:
    for number, table in enumerate(tables):
        y = HEIGHT - BOTTOM - 18 * (len(tables) - number)
        x = WIDTH - RIGHT + 20
        yield element("circle", f"hue{number % len(PALETTE)}", cx=x, cy=y - 4, r=4)
        yield text((x + 12, y), table)
