"""One self-contained HTML page: the text and the pictures of all nests.

No script, no external resource; colours follow the reader's choice of light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from gpucodegen.report.pictures.svg import Element, printable


@dataclass(frozen=True, slots=True)
class PagePart:
    """A heading of some level, text set as it is, other blocks, and pictures."""

    level: int
    title: str
    text: str = ""
    pictures: Sequence[Element] = ()
    blocks: Sequence[Element] = ()


STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1.2rem;
  font: 16px/1.5 ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif;
  color: #1f2328; background: #f6f8fa; }
pre { overflow-x: auto; padding: 1rem; border-radius: 8px; background: #ffffff;
  font: 13px/1.45 ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }
figure { display: inline-block; margin: 0.6rem 0.8rem 0.6rem 0; max-width: 100%;
  vertical-align: top; overflow-x: auto; }
h2 { margin-top: 2.4rem; border-bottom: 1px solid #d0d7de; }
h3, h4 { margin-bottom: 0.4rem; }
table { margin: 1rem 0; border-collapse: collapse; font-size: 14px;
  display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th { text-align: left; font-weight: 600; }
th, td { padding: 0.2rem 1rem 0.2rem 0; white-space: nowrap; }
tr + tr > td, tr + tr > th { border-top: 1px solid #d0d7de; }
.bars td, .bars th { border: 0; }
.bars th { font-weight: 400; }
.bar { height: 0.9rem; border-radius: 3px; background: #8b949e; }
.binding { background: #cf4f2b; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; }
  pre { background: #14181d; }
  h2, tr + tr > td, tr + tr > th { border-color: #30363d; }
}
"""


def page(title: str, parts: Sequence[PagePart]) -> str:
    """The text of the page.

    >>> text = page("f", [PagePart(2, "<f>", "a < b")])
    >>> "&lt;f&gt;" in text, "a &lt; b" in text, "http" in text
    (True, True, False)
    """
    root = Element("html", lang="en")
    head = ET.SubElement(root, "head")
    ET.SubElement(head, "meta", charset="utf-8")
    ET.SubElement(
        head, "meta", name="viewport", content="width=device-width, initial-scale=1"
    )
    ET.SubElement(head, "title").text = printable(title)
    ET.SubElement(head, "style").text = STYLE
    body = ET.SubElement(root, "body")
    ET.SubElement(body, "h1").text = printable(title)
    for part in parts:
        body.extend(_elements(part))
    text = ET.tostring(root, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{text}\n"


def _elements(part: PagePart) -> Iterator[Element]:
    heading = Element(f"h{part.level}")
    heading.text = printable(part.title)
    yield heading
    if part.text:
        block = Element("pre")
        block.text = printable(part.text)
        yield block
    yield from part.blocks
    for picture in part.pictures:
        figure = Element("figure")
        figure.append(_inline(picture))
        yield figure


def _inline(picture: Element) -> Element:
    """HTML knows what an ``svg`` is; a picture stays whole, style included."""
    attributes = {k: v for k, v in picture.attrib.items() if k != "xmlns"}
    kept = Element(picture.tag, attributes)
    kept.extend(picture)
    return kept
