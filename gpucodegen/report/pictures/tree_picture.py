"""Picture of a schedule tree as boxes, the root at the top."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from gpucodegen.records import dataclass
from gpucodegen.report.pictures import svg
from gpucodegen.report.pictures.svg import Element
from gpucodegen.report.schedule_tree import SEPARATOR, NodeKind, Tree

CHARACTER, LINE, PAD, GAP, DROP = 7.4, 16.0, 9.0, 16.0, 22.0
WIDEST = 44
"""Letters in a line of a box."""
TOP = 50.0

RIMS = {
    NodeKind.DOMAIN: "rim7",
    NodeKind.BAND: "rim0",
    NodeKind.SEQUENCE: "rim3",
    NodeKind.FILTER: "rim5",
    NodeKind.MARK: "rim1",
    NodeKind.LEAF: "rim2",
}


@dataclass(frozen=True, slots=True)
class _Box:
    """A node with its lines of text, and the size of its subtree."""

    tree: Tree
    lines: tuple[str, ...]
    children: tuple[_Box, ...]

    @property
    def own(self) -> tuple[float, float]:
        """Width and height of the box alone."""
        width = max(map(len, self.lines)) * CHARACTER + 2 * PAD
        return width, len(self.lines) * LINE + 2 * PAD - 4

    @property
    def width(self) -> float:
        """Width of the subtree."""
        below = sum(child.width for child in self.children)
        return max(self.own[0], below + GAP * max(0, len(self.children) - 1))

    @property
    def height(self) -> float:
        """Height of the subtree."""
        deepest = max((child.height + DROP for child in self.children), default=0.0)
        return self.own[1] + deepest

    def drawn(self, left: float, top: float) -> Iterator[Element]:
        """The box, lines to its children, and the children."""
        width, height = self.own
        middle = left + self.width / 2
        bottom = top + height
        below = sum(c.width for c in self.children) + GAP * (len(self.children) - 1)
        x = left + (self.width - below) / 2
        for child in self.children:
            end = x + child.width / 2
            bend = bottom + DROP / 2
            places = [
                (middle, bottom),
                (middle, bend),
                (end, bend),
                (end, bottom + DROP),
            ]
            yield svg.polyline(places, "order", stroke_width=1.4)
            yield from child.drawn(x, bottom + DROP)
            x += child.width + GAP
        corner = (middle - width / 2, top)
        yield svg.rectangle(corner, self.own, "box", 5, stroke_width=0.6)
        rim = RIMS[self.tree.kind]
        start, end = (corner[0] + 2.5, top + 5), (corner[0] + 2.5, bottom - 5)
        yield svg.line(start, end, rim, stroke_width=3, stroke_linecap="round")
        for number, text in enumerate(self.lines):
            at = (corner[0] + PAD + 2, top + PAD + 8 + number * LINE)
            yield svg.text(at, text, "ink head-line" if number == 0 else "soft code")


def tree_picture(tree: Tree, title: str) -> Element:
    """The picture of a schedule tree."""
    root = _box(tree)
    width = max(root.width + 40, 40 + 8.5 * len(title))
    left = (width - root.width) / 2
    parts = [svg.text((20, 28), title, "ink head"), *root.drawn(left, TOP)]
    return svg.document((width, TOP + root.height + 20), title, parts)


def _box(tree: Tree) -> _Box:
    lines = [tree.kind.value]
    for part in tree.text.split(SEPARATOR):
        lines += textwrap.wrap(part, WIDEST)
    if tree.coincident:
        flags = ", ".join("yes" if flag else "no" for flag in tree.coincident)
        lines.append(f"coincident: {flags}")
    if tree.permutable:
        lines.append("permutable: yes")
    return _Box(tree, tuple(lines), tuple(map(_box, tree.children)))
