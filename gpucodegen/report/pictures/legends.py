"""Legends: samples of the signs in a picture and what they mean."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.report.pictures import svg
from gpucodegen.report.pictures.svg import Element

LINE = 20.0
TEXT_LEFT = 62.0
CHARACTER = 6.7
"""Width of a letter of the legend, on the safe side."""


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A sample, drawn around (14, 0), and its meaning."""

    sample: Element
    meaning: str


def legend(
    entries: Sequence[LegendEntry], top: float, width: float
) -> tuple[list[Element], float]:
    """The drawn entries and the height they take; long meanings are wrapped."""
    drawn: list[Element] = []
    y = top
    for entry in entries:
        moved = svg.element("g", transform=f"translate(22 {y:g})")
        moved.append(entry.sample)
        drawn.append(moved)
        for row in _wrapped(entry.meaning, width):
            drawn.append(svg.text((TEXT_LEFT, y + 4), row))
            y += LINE
    return drawn, y - top


def _wrapped(meaning: str, width: float) -> Iterator[str]:
    letters = max(24, int((width - TEXT_LEFT - 20) / CHARACTER))
    yield from textwrap.wrap(meaning, letters) or [""]
