"""Picture of the cells that the first blocks, and the first block's threads, write.

The last two dimensions are shown, to scale; the boxes and cells are isl answers on the
mapped kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen.records import dataclass
from gpucodegen.report.kernels import Box, MappedKernel, WorkShare, length
from gpucodegen.report.pictures import svg
from gpucodegen.report.pictures.svg import Element, LegendEntry, Place, legend
from gpucodegen.report.wording import box as extents_text

LEFT, TOP = 70.0, 70.0
WIDTH, HEIGHT = 440.0, 400.0
LARGEST, SMALLEST = 14.0, 3.0
"""Side of an element on paper, and least side of what must be seen."""
LOWEST = 40.0
"""Flat boxes are stretched to this height."""


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """Rows and columns of a box in the last two dimensions."""

    row: int
    column: int
    rows: int
    columns: int

    @staticmethod
    def of(box: Box) -> _Rectangle | None:
        """The box, unless it is unbounded."""
        sides = box[-2:]
        lengths = [length(side) for side in sides]
        lowers = [side.lower for side in sides]
        if not sides or None in lengths or None in lowers:
            return None
        starts = [lower or 0 for lower in lowers]
        counts = [count or 0 for count in lengths]
        if len(sides) == 1:
            return _Rectangle(0, starts[0], 1, counts[0])
        return _Rectangle(starts[0], starts[1], counts[0], counts[1])


def share_picture(kernel: MappedKernel, share: WorkShare, title: str) -> Element | None:
    """The picture of one written array; None where boxes are unbounded."""
    boxes = [found for box in share.blocks if (found := _Rectangle.of(box))]
    if len(boxes) != len(share.blocks):
        return None
    first = boxes[0]
    bottom = max(b.row + b.rows for b in boxes) - first.row
    right = max(b.column + b.columns for b in boxes) - first.column
    side = min(LARGEST, WIDTH / right, HEIGHT / bottom)
    scale = _Scale(first.row, first.column, side, max(side, LOWEST / bottom))
    parts = [*_boxes(boxes, scale), *_threads(share, scale)]
    width = max(LEFT + right * scale.across + 40, 480.0, 40 + 8.5 * len(title))
    top = TOP + bottom * scale.down + 36
    entries, height = legend(list(_legend(kernel, share)), top, width)
    head = svg.text((20, 28), title, "ink head")
    return svg.document((width, top + height + 4), title, [head, *parts, *entries])


@dataclass(frozen=True, slots=True)
class _Scale:
    """From elements to paper."""

    row: int
    column: int
    across: float
    down: float

    def at(self, row: int, column: int) -> Place:
        """The upper left corner of an element."""
        return (
            LEFT + (column - self.column) * self.across,
            TOP + (row - self.row) * self.down,
        )

    def size(self, rows: int, columns: int) -> Place:
        """Width and height of a box."""
        return max(columns * self.across, SMALLEST), max(rows * self.down, SMALLEST)


def _boxes(boxes: list[_Rectangle], scale: _Scale) -> Iterator[Element]:
    for number, found in enumerate(boxes):
        corner = scale.at(found.row, found.column)
        size = scale.size(found.rows, found.columns)
        yield svg.rectangle(corner, size, f"hue{number}", 2, opacity=0.22)
        yield svg.rectangle(corner, size, "tile", 2, stroke_width=1)
    for row in dict.fromkeys(b.row for b in boxes):
        _, y = scale.at(row, 0)
        yield svg.text((LEFT - 8, y + 11), str(row), "soft code", "end")
    for column in dict.fromkeys(b.column for b in boxes):
        x, _ = scale.at(0, column)
        yield svg.text((x, TOP - 8), str(column), "soft code")


def _threads(share: WorkShare, scale: _Scale) -> Iterator[Element]:
    """The cells of the first threads; those of the first one are drawn last."""
    for number, cells in reversed(list(enumerate(share.threads))):
        for cell in cells:
            row, column = (0, *cell)[-2:]
            corner, size = scale.at(row, column), scale.size(1, 1)
            yield svg.rectangle(corner, size, f"hue{HUES[number]}")


HUES = (0, 1, 3)


def _legend(kernel: MappedKernel, share: WorkShare) -> Iterator[LegendEntry]:
    worker = "block" if kernel.block else "parallel iteration"
    for number in range(len(share.blocks)):
        sample = svg.rectangle((4, -7), (22, 14), f"hue{number}", 2, opacity=0.3)
        extents = extents_text([length(side) for side in share.blocks[number]])
        yield LegendEntry(
            sample, f"{worker} {number}: {extents} elements of {share.array}"
        )
    for number, cells in enumerate(share.threads):
        sample = svg.rectangle((10, -5), (10, 10), f"hue{HUES[number]}")
        elements = "one element" if len(cells) == 1 else f"{len(cells)} elements"
        yield LegendEntry(sample, f"thread {number} of block 0: {elements}")
