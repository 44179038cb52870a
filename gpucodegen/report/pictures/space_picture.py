"""Picture of the iteration space of two loops: points, arrows, tiles, fronts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot

from gpucodegen.records import dataclass
from gpucodegen.report.pictures import svg
from gpucodegen.report.pictures.planes import Arrow, Plane, Point
from gpucodegen.report.pictures.svg import Element, LegendEntry, Place, legend
from gpucodegen.report.wording import equations

RADIUS = 6.0
"""Of a point."""
LONG = 60.0
"""Longer arrows are bent, so that they do not hide behind the points between."""


def arrow(start: Place, end: Place, cls: str, *, bold: bool = False) -> Element:
    """A line with a head; ``bold`` for emphasis."""
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


LEFT, TOP = 78.0, 92.0
NARROWEST = 420.0


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of ``rows`` by ``columns`` iterations; ``refusal``: why none are legal."""

    rows: int
    columns: int
    refusal: str = ""

    def of(self, point: Point) -> tuple[int, int]:
        return point.row // self.rows, point.column // self.columns


@dataclass(frozen=True, slots=True)
class _Canvas:
    """The positions of a plane's points on the paper."""

    plane: Plane
    tiles: Tiles | None

    @property
    def cell(self) -> float:
        """Side of an iteration."""
        count = len(self.plane.statements)
        return 36.0 if count == 1 else 58.0 if count <= 4 else 84.0

    @property
    def size(self) -> Place:
        """Width and height of the grid."""
        return len(self.plane.columns) * self.cell, len(self.plane.rows) * self.cell

    def centre(self, row: float, column: float) -> Place:
        """The centre of an iteration."""
        return LEFT + (column + 0.5) * self.cell, TOP + (row + 0.5) * self.cell

    def at(self, point: Point) -> Place:
        """The centre of a point; statements of one iteration stand side by side."""
        x, y = self.centre(point.row, point.column)
        return x + point.slot * self.cell * 0.26, y + point.slot * self.cell * 0.16

    def hue(self, point: Point) -> str:
        """The colour of a tile of the program, or of a thread."""
        if point.tile:
            known = sorted({p.tile for p in self.plane.points})
            return f"hue{known.index(point.tile) % len(svg.PALETTE)}"
        if self.plane.workers is None:
            return "dot"
        worker = (point.row, point.column)[self.plane.workers]
        return f"hue{worker % len(svg.PALETTE)}"


def space_picture(plane: Plane, tiles: Tiles | None, title: str) -> Element:
    canvas = _Canvas(plane, tiles)
    parts = {
        "axes": _axes(canvas),
        "tiles": _outlines(canvas),
        "fronts": _fronts(canvas),
        "path": _order(canvas),
        "arrows": (_arrow(canvas, a) for a in plane.arrows if not a.witness),
        "points": (
            _dot(canvas.at(p), p.statement, canvas.hue(p)) for p in plane.points
        ),
        "witnesses": (_arrow(canvas, a) for a in plane.arrows if a.witness),
    }
    width, height = canvas.size
    total = max(NARROWEST, LEFT + width + 30, 40 + 8.5 * len(title))
    top = TOP + height + 30
    entries, length = legend(list(_legend(canvas)), top, total)
    given = f", with {equations(plane.given)}" if plane.given else ""
    loops = f"loops {plane.outer.name} and {plane.inner.name}{given}"
    heading = [svg.text((20, 28), title, "ink head"), svg.text((20, 48), loops, "soft")]
    drawn = [svg.group(name, elements) for name, elements in parts.items()]
    body = [*heading, *drawn, svg.group("legend", entries)]
    return svg.document((total, top + length + 4), title, body)


def _axes(canvas: _Canvas) -> Iterator[Element]:
    """Grid lines and the values of both loops."""
    plane = canvas.plane
    width, height = canvas.size
    for row, label in enumerate(plane.rows):
        _, y = canvas.centre(row, 0)
        yield svg.line((LEFT, y), (LEFT + width, y), "grid")
        yield svg.text((LEFT - 10, y + 4), label, "soft code", "end")
    for column, label in enumerate(plane.columns):
        x, _ = canvas.centre(0, column)
        yield svg.line((x, TOP), (x, TOP + height), "grid")
        yield svg.text((x, TOP - 8), label, "soft code", "middle")
    across = (LEFT + width / 2, TOP - 26)
    yield svg.text(across, f"{plane.inner.name} →", "ink code", "middle")
    yield svg.text((20, TOP + height / 2 + 4), f"{plane.outer.name} ↓", "ink code")


def _dot(at: Place, statement: int, cls: str) -> Element:
    """The point of an execution; each statement has a shape."""
    x, y = at
    match statement % 6:
        case 0:
            return svg.element("circle", cls, cx=x, cy=y, r=RADIUS)
        case 1:
            side = 2 * RADIUS - 2
            return svg.rectangle((x - side / 2, y - side / 2), (side, side), cls, 1.5)
        case corners:
            places = [(x + dx * RADIUS, y + dy * RADIUS) for dx, dy in SHAPES[corners]]
            return svg.polygon(places, cls)


SHAPES = {
    2: ((0, -1.0), (1.0, 0.85), (-1.0, 0.85)),
    3: ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    4: ((0, 1.0), (1.0, -0.85), (-1.0, -0.85)),
    5: (
        (1.1, 0),
        (0.55, 0.95),
        (-0.55, 0.95),
        (-1.1, 0),
        (-0.55, -0.95),
        (0.55, -0.95),
    ),
}
"""After circle and square: corners in units of the radius."""


def _arrow(canvas: _Canvas, shown: Arrow) -> Element:
    cls = "witness" if shown.witness else _carrier(canvas.plane, shown.carrier)
    ends = canvas.at(shown.source), canvas.at(shown.sink)
    return arrow(*ends, cls, bold=shown.witness)


def _carrier(plane: Plane, name: str) -> str:
    known = {plane.inner.name: "along", plane.outer.name: "across", "": "within"}
    return known.get(name, "between")


def _fronts(canvas: _Canvas) -> Iterator[Element]:
    """Bands behind points that are independent of each other."""
    plane = canvas.plane
    if not shows_front(plane):
        return
    a, b = plane.front or (0, 0)
    fronts: dict[int, list[Place]] = {}
    for point in plane.points:
        number = a * int(plane.rows[point.row]) + b * int(plane.columns[point.column])
        fronts.setdefault(number, []).append(canvas.centre(point.row, point.column))
    width = min(18.0, FRONT * canvas.cell / hypot(a, b))
    for places in fronts.values():
        ends = (min(places), max(places))
        yield svg.polyline(ends, "front", stroke_width=width, stroke_linecap="round")


FRONT = 0.7
"""Width of a band relative to the distance of neighbouring fronts."""


def shows_front(plane: Plane) -> bool:
    """Whether fronts add information to the colours of threads or tiles."""
    has_hues = plane.workers is not None or any(point.tile for point in plane.points)
    return plane.front is not None and not has_hues


def _outlines(canvas: _Canvas) -> Iterator[Element]:
    """An outline around the points of each tile."""
    groups: dict[object, list[Point]] = {}
    for point in canvas.plane.points:
        if point.tile:
            groups.setdefault(point.tile, []).append(point)
        elif canvas.tiles is not None:
            groups.setdefault(canvas.tiles.of(point), []).append(point)
    for number, points in enumerate(groups.values()):
        yield from _outline(canvas, points, f"hue{number % len(svg.PALETTE)}")


def _outline(canvas: _Canvas, points: Sequence[Point], hue: str) -> Iterator[Element]:
    """Tiles of the program have colours, and an outline if they are rectangles."""
    rows, columns = [p.row for p in points], [p.column for p in points]
    x0, y0 = canvas.centre(min(rows), min(columns))
    x1, y1 = canvas.centre(max(rows), max(columns))
    pad = canvas.cell * 0.43
    corner, size = (x0 - pad, y0 - pad), (x1 - x0 + 2 * pad, y1 - y0 + 2 * pad)
    if not points[0].tile:
        yield _frame(corner, size, canvas.tiles)
        return
    area = (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)
    if len({p.iteration for p in points}) == area:
        yield svg.rectangle(corner, size, hue, 8, opacity=0.16)
        yield _frame(corner, size, None)


def _frame(corner: Place, size: Place, tiles: Tiles | None) -> Element:
    """The outline of a tile; refused ones are dashed."""
    if tiles is None or not tiles.refusal:
        return svg.rectangle(corner, size, "tile", 8, stroke_width=1.6)
    dashes = "5 4"
    return svg.rectangle(
        corner, size, "refused", 8, stroke_width=1.6, stroke_dasharray=dashes
    )


def _order(canvas: _Canvas) -> Iterator[Element]:
    """The order of points of a tiled program, where no arrows show it."""
    points = [] if canvas.plane.arrows else [p for p in canvas.plane.points if p.tile]
    ordered = sorted(points, key=lambda p: (p.tile, p.row, p.column))
    if len(ordered) > 1:
        yield svg.polyline([canvas.at(p) for p in ordered], "order", stroke_width=1.6)


def _legend(canvas: _Canvas) -> Iterator[LegendEntry]:
    """The meanings of the signs that occur."""
    plane = canvas.plane
    for number, name in enumerate(plane.statements):
        text = f"an execution of {name}: {plane.effects[name]}"
        yield LegendEntry(_dot((14, 0), number, "dot"), text)
    yield from _arrow_entries(plane)
    if plane.workers is not None:
        loop = (plane.outer, plane.inner)[plane.workers].name
        text = f"one colour per {loop}: nothing waits for another colour, each may "
        yield LegendEntry(_dot((14, 0), 0, "hue0"), f"{text}have a thread of its own")
    if shows_front(plane):
        band = svg.line((6, 0), (26, 0), "front", stroke_width=12)
        band.set("stroke-linecap", "round")
        text = f"one value of {_front(plane)}: may run at once, one band after another"
        yield LegendEntry(band, text)
    if any(point.tile for point in plane.points):
        yield LegendEntry(_dot((14, 0), 0, "hue0"), "one colour per tile")
        if not plane.arrows:
            path = svg.line((0, 0), (32, 0), "order", stroke_width=1.6)
            yield LegendEntry(path, "order of execution")
    elif canvas.tiles is not None:
        outline = _frame((2, -7), (26, 14), canvas.tiles)
        shape = f"tile of {canvas.tiles.rows} x {canvas.tiles.columns} iterations"
        refusal = canvas.tiles.refusal
        yield LegendEntry(outline, f"{shape}: refused, {refusal}" if refusal else shape)
    if plane.is_cut:
        yield LegendEntry(svg.element("g"), "there are more iterations than are shown")
    if plane.focus is not None:
        row, column = plane.rows[plane.focus[0]], plane.columns[plane.focus[1]]
        where = f"{plane.outer.name} = {row}, {plane.inner.name} = {column}"
        text = f"of the many arrows only those of {where} are drawn"
        yield LegendEntry(svg.element("g"), text)
    if not plane.complete:
        yield LegendEntry(
            svg.element("g"), "some dependences are missing: isl gave no answer"
        )


def _arrow_entries(plane: Plane) -> Iterator[LegendEntry]:
    seen = {_carrier(plane, a.carrier) for a in plane.arrows if not a.witness}
    meanings = {
        "along": f"must come first; carried by {plane.inner.name}",
        "across": f"must come first; carried by {plane.outer.name}",
        "between": "must come first; carried by a loop over tiles",
        "within": "must come first, in the same iteration of the loops around both",
    }
    for cls, meaning in meanings.items():
        if cls in seen:
            yield LegendEntry(arrow((-4, 0), (36, 0), cls), meaning)
    if any(a.witness for a in plane.arrows):
        drawn = arrow((-4, 0), (36, 0), "witness", bold=True)
        yield LegendEntry(drawn, "the same: the witness that the analysis names")


def _front(plane: Plane) -> str:
    a, b = plane.front or (0, 0)
    factors = ((a, plane.outer.name), (b, plane.inner.name))
    return " + ".join(name if n == 1 else f"{n}*{name}" for n, name in factors if n)
