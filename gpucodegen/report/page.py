"""One self-contained HTML page with the text and the pictures of all nests.

It has no script and no external resource; colours follow the reader's choice of light
or dark. Contents and stages are HTML links and folds, so keys and screen readers work;
a wide window shows the program's text beside the stages, a narrow one below them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from gpucodegen.records import dataclass
from gpucodegen.report.pictures.svg import Element, printable


@dataclass(frozen=True, slots=True)
class PagePart:
    """A heading of some level, preformatted text, other blocks, and pictures.

    ``is_open``: the part is initially unfolded.
    """

    level: int
    title: str
    text: str = ""
    pictures: Sequence[Element] = ()
    blocks: Sequence[Element] = ()
    is_open: bool = True


STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1.2rem;
  font: 16px/1.5 ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif;
  color: #1f2328; background: #f6f8fa; }
pre { overflow-x: auto; padding: 1rem; border-radius: 8px; background: #ffffff;
  font: 13px/1.45 ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }
figure { display: inline-block; margin: 0.6rem 0.8rem 0.6rem 0; max-width: 100%;
  vertical-align: top; overflow-x: auto; }
img { max-width: 100%; border-radius: 8px; }
svg.fits { max-width: 100%; height: auto; }
h2 { margin-top: 2.4rem; border-bottom: 1px solid #d0d7de; }
h3, h4 { margin-bottom: 0.4rem; }
table { margin: 1rem 0; border-collapse: collapse; font-size: 14px;
  display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th { text-align: left; font-weight: 600; }
th, td { padding: 0.2rem 1rem 0.2rem 0; white-space: nowrap; }
tr + tr > td, tr + tr > th { border-top: 1px solid #d0d7de; }
.bars td, .bars th { border: 0; white-space: normal; }
.bars th { font-weight: 400; }
.bar { min-width: 1px; height: 0.9rem; border-radius: 3px; background: #8b949e; }
.binding { background: #cf4f2b; }
summary { cursor: pointer; }
summary { margin-top: 1.6rem; }
summary > h2, summary > h3, summary > h4 { display: inline; border: 0; }
:focus-visible { outline: 2px solid #cf4f2b; }
a { color: #0b5cad; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; }
nav ul { list-style: none; padding: 0; }
.level3 { padding-left: 1.2rem; }
.level4 { padding-left: 2.4rem; }
.listing i { color: #6e7781; font-style: normal; user-select: none; }
.listing span { display: inline-block; min-width: 100%; }
.listing span:target { background: #fff1b8; }
@media (min-width: 90rem) {
  .beside { max-width: 110rem; display: grid; gap: 0 1.5rem;
    grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
  .beside > h1, .beside > nav { grid-column: 1 / -1; }
  aside { position: sticky; top: 1rem; align-self: start; max-height: 96vh;
    overflow-y: auto; }
}
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; }
  pre { background: #14181d; }
  a { color: #79b8ff; }
  .listing i { color: #8b949e; }
  .listing span:target { background: #3d3200; }
  h2, tr + tr > td, tr + tr > th { border-color: #30363d; }
}
"""


def page(title: str, parts: Sequence[PagePart], listing: Sequence[str] = ()) -> str:
    """The text of the page: contents, the parts, and beside them a ``listing``.

    That is the program's text.  Places in texts, such as ``a.mlir:3:1``, link to it.

    >>> text = page("f", [PagePart(2, "<f>", "a < b at f.mlir:1:3")], ["x"])
    >>> "&lt;f&gt;" in text, "a &lt; b" in text, "http" in text
    (True, True, False)
    >>> '<a href="#line-1">f.mlir:1:3</a>' in text, '<span id="line-1">' in text
    (True, True)
    """
    root = Element("html", lang="en")
    head = ET.SubElement(root, "head")
    ET.SubElement(head, "meta", charset="utf-8")
    ET.SubElement(
        head, "meta", name="viewport", content="width=device-width, initial-scale=1"
    )
    ET.SubElement(head, "title").text = printable(title)
    ET.SubElement(head, "style").text = STYLE
    body = ET.SubElement(root, "body", {"class": "beside"} if listing else {})
    skip = ET.SubElement(body, "a", {"href": "#text", "class": "skip"})
    skip.text = "Skip to the text"
    ET.SubElement(body, "h1").text = printable(title)
    body.append(_contents(parts))
    main = ET.SubElement(body, "main", id="text")
    for number, part in enumerate(parts):
        main.extend(_elements(part, f"part-{number}", len(listing)))
    if listing:
        body.append(_listing(listing))
    text = ET.tostring(root, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{text}\n"


def _contents(parts: Sequence[PagePart]) -> Element:
    """Links to all parts."""
    found = Element("nav", {"aria-label": "Contents"})
    rows = ET.SubElement(found, "ul")
    for number, part in enumerate(parts):
        row = ET.SubElement(rows, "li", {"class": f"level{part.level}"})
        ET.SubElement(row, "a", href=f"#part-{number}").text = printable(part.title)
    return found


def _listing(lines: Sequence[str]) -> Element:
    """The program's text; each line can be linked to."""
    found = Element("aside", {"aria-label": "The program's text"})
    block = ET.SubElement(found, "pre", {"class": "listing", "tabindex": "0"})
    for number, line in enumerate(lines, start=1):
        row = ET.SubElement(block, "span", id=f"line-{number}")
        ET.SubElement(row, "i").text = f"{number:>4}  "
        row[-1].tail = printable(line)
        row.tail = "\n"
    return found


def _elements(part: PagePart, name: str, lines: int) -> Iterator[Element]:
    """A heading, or one that folds its contents."""
    heading = Element(f"h{part.level}", id=name)
    heading.text = printable(part.title)
    blocks = [*([_text(part.text, lines)] if part.text else []), *part.blocks]
    blocks += [_figure(picture) for picture in part.pictures]
    if not blocks:
        yield heading
        return
    stage = Element("details", {"open": "open"} if part.is_open else {})
    ET.SubElement(stage, "summary").append(heading)
    stage.extend(blocks)
    yield stage


PLACE = re.compile(r"[^\s:]+:(\d+)(?::\d+)?\b")
"""A place in a file, as texts and generated sources write it."""


def _text(text: str, lines: int) -> Element:
    """Preformatted text, with places in the listing as links."""
    block = Element("pre", tabindex="0")
    text, last, end = printable(text), block, 0
    block.text = ""

    def add(more: str) -> None:
        if last is block:
            block.text = f"{block.text}{more}"
        else:
            last.tail = f"{last.tail or ''}{more}"

    for place in PLACE.finditer(text):
        if not 0 < int(place[1]) <= lines:
            continue
        add(text[end : place.start()])
        last = ET.SubElement(block, "a", href=f"#line-{int(place[1])}")
        last.text, end = place[0], place.end()
    add(text[end:])
    return block


def _figure(picture: Element) -> Element:
    figure = Element("figure")
    figure.append(_inline(picture))
    return figure


FITTING = 640
"""Pixels: a picture of this width stays readable on a telephone; wider ones scroll."""


def _inline(picture: Element) -> Element:
    """The picture for HTML, which needs no namespace; the style stays included."""
    attributes = {k: v for k, v in picture.attrib.items() if k != "xmlns"}
    if float(picture.get("width", 0)) <= FITTING:
        attributes["class"] = "fits"
    kept = Element(picture.tag, attributes)
    kept.extend(picture)
    return kept
