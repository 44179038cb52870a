"""SVG elements, legends, and the style sheet of all pictures.

Colours are classes with one meaning each, light and dark. Every picture holds the style
sheet, so that it is readable on its own and inside the page. The standard library
escapes text; characters that XML cannot hold are replaced.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree as ET

from gpucodegen.records import dataclass

Element = ET.Element
Place = tuple[float, float]

PALETTE = (
    ("#4c78a8", "#7aa6d6"),
    ("#e07b39", "#f0a26b"),
    ("#4f9d69", "#7cc795"),
    ("#9467bd", "#b89ad9"),
    ("#c9a227", "#e3c55b"),
    ("#2a9d8f", "#5fc9bc"),
    ("#b5577a", "#dc8ba9"),
    ("#7f7f7f", "#a9a9a9"),
)
"""Eight colours for things that only have to differ, light and dark."""

_CLASSES = {
    "paper": ("fill:#ffffff", "fill:#14181d"),
    "ink": ("fill:#1f2328", "fill:#e6edf3"),
    "soft": ("fill:#57606a", "fill:#9aa4af"),
    "dot": ("fill:#57606a", "fill:#9aa4af"),
    "grid": ("stroke:#d8dee4", "stroke:#30363d"),
    "box": ("fill:#f3f5f8;stroke:#8c959f", "fill:#1f252c;stroke:#6e7681"),
    "along": ("fill:none;stroke:#1f6feb", "fill:none;stroke:#58a6ff"),
    "across": ("fill:none;stroke:#8250df", "fill:none;stroke:#bc8cff"),
    "between": ("fill:none;stroke:#1a7f64", "fill:none;stroke:#56c9a8"),
    "within": ("fill:none;stroke:#8c959f", "fill:none;stroke:#6e7681"),
    "witness": ("fill:none;stroke:#d1242f", "fill:none;stroke:#ff7b72"),
    "tile": ("fill:none;stroke:#57606a", "fill:none;stroke:#9aa4af"),
    "refused": ("fill:none;stroke:#d1242f", "fill:none;stroke:#ff7b72"),
    "front": ("fill:none;stroke:#fae3a0", "fill:none;stroke:#57481c"),
    "order": ("fill:none;stroke:#afb8c1", "fill:none;stroke:#545d68"),
} | {
    f"{kind}{number}": tuple(f"{part}:{colour}" for colour in pair)
    for number, pair in enumerate(PALETTE)
    for kind, part in (("hue", "fill"), ("rim", "stroke"))
}
ARROWS = ("along", "across", "between", "within", "witness")
_HEADS = {name: f"{name}-head" for name in ARROWS}


def style() -> str:
    """The style sheet of all pictures."""
    light = _rules(0)
    dark = _rules(1)
    fonts = (
        "text{font-family:ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,"
        "'DejaVu Sans',sans-serif;font-size:12px}"
        "text.code{font-family:ui-monospace,Consolas,'DejaVu Sans Mono',monospace}"
        "text.head{font-size:14px;font-weight:600}"
    )
    return f"{fonts}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _rules(side: int) -> str:
    rules = [f".{name}{{{pair[side]}}}" for name, pair in _CLASSES.items()]
    for name, head in _HEADS.items():
        colour = _CLASSES[name][side].rpartition(":")[2]
        rules.append(f".{head}{{fill:{colour}}}")
    return "".join(rules)


def element(tag: str, cls: str = "", **attributes: float | str) -> Element:
    """An element; numbers are rounded, ``_`` in names becomes ``-``.

    >>> ET.tostring(element("line", "grid", x1=0, stroke_width=1.5)).decode()
    '<line class="grid" x1="0" stroke-width="1.5" />'
    """
    given = {"class": cls} if cls else {}
    for name, value in attributes.items():
        shown = value if isinstance(value, str) else f"{round(value, 2):g}"
        given[name.replace("_", "-")] = shown
    return Element(tag, given)


def group(cls: str, elements: Iterable[Element]) -> Element:
    made = element("g", cls)
    made.extend(elements)
    return made


def text(at: Place, content: str, cls: str = "ink", anchor: str = "start") -> Element:
    """One line of text.

    >>> ET.tostring(text((1, 2), "<a>")).decode()
    '<text class="ink" x="1" y="2">&lt;a&gt;</text>'
    """
    x, y = at
    made = element("text", cls, x=x, y=y)
    if anchor != "start":
        made.set("text-anchor", anchor)
    made.text = printable(content)
    return made


def rectangle(
    corner: Place, size: Place, cls: str = "", radius: float = 0, **more: float | str
) -> Element:
    """A rectangle with rounded corners."""
    x, y = corner
    width, height = size
    return element("rect", cls, x=x, y=y, width=width, height=height, rx=radius, **more)


def line(start: Place, end: Place, cls: str, **more: float | str) -> Element:
    """A straight line."""
    return element("line", cls, x1=start[0], y1=start[1], x2=end[0], y2=end[1], **more)


def polyline(places: Sequence[Place], cls: str, **more: float | str) -> Element:
    """A line through several places."""
    points = " ".join(f"{x:g},{y:g}" for x, y in places)
    return element("polyline", cls, points=points, **more)


def polygon(corners: Sequence[Place], cls: str) -> Element:
    """A filled shape."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return element("polygon", cls, points=points)


def document(size: Place, title: str, body: Sequence[Element]) -> Element:
    """A whole picture; screen readers read ``title``."""
    width, height = size
    root = element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
    )
    name = element("title")
    name.text = printable(title)
    sheet = element("style")
    sheet.text = style()
    root.extend([name, sheet, rectangle((0, 0), size, "paper", 8), *body])
    return root


def written(root: Element) -> str:
    """The XML text of a picture."""
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode") + "\n"


_UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(content: str) -> str:
    r"""Text without characters that XML cannot hold.

    >>> printable("a\x01b")
    'a�b'
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", content)


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
    """The drawn entries and their height; long meanings are wrapped."""
    drawn: list[Element] = []
    y = top
    for entry in entries:
        moved = element("g", transform=f"translate(22 {y:g})")
        moved.append(entry.sample)
        drawn.append(moved)
        for row in _wrapped(entry.meaning, width):
            drawn.append(text((TEXT_LEFT, y + 4), row))
            y += LINE
    return drawn, y - top


def _wrapped(meaning: str, width: float) -> Iterator[str]:
    letters = max(24, int((width - TEXT_LEFT - 20) / CHARACTER))
    yield from textwrap.wrap(meaning, letters) or [""]
