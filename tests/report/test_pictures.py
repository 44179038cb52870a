"""Pictures are well-formed, complete, and safe to show."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.report.report_nests import (
    DIAGONAL,
    LU,
    SEIDEL,
    SWEEP,
    TILED,
    TRIANGLE,
    example,
    first_plane,
)

NAMESPACE = "{http://www.w3.org/2000/svg}"
TEXTS = [DIAGONAL, LU, SEIDEL, SWEEP, TILED, TRIANGLE, example("matmul")]


def group(root: ET.Element, name: str) -> list[ET.Element]:
    (found,) = [g for g in root.iter(f"{NAMESPACE}g") if g.get("class") == name]
    return list(found)


@pytest.mark.sampled(2)
@pytest.mark.cases("text", TEXTS)
def test_every_point_and_arrow_is_drawn(text: str):
    plane = first_plane(text, 8)
    root = ET.fromstring(gcg.explain(text, targets=()).svg())
    assert len(group(root, "points")) == len(plane.points)
    drawn = len(group(root, "arrows")) + len(group(root, "witnesses"))
    assert drawn == len(plane.arrows)
    assert len(group(root, "witnesses")) == sum(a.witness for a in plane.arrows)


@pytest.mark.slow
def test_everything_is_on_the_paper():
    for text in TEXTS:
        root = ET.fromstring(gcg.explain(text, targets=()).svg())
        _, _, width, height = map(float, root.get("viewBox", "").split())
        for circle in (e for e in group(root, "points") if e.tag.endswith("circle")):
            assert 0 < float(circle.get("cx", "")) < width
            assert 0 < float(circle.get("cy", "")) < height
        for words in root.iter(f"{NAMESPACE}text"):
            x, y = (float(words.get(axis, "")) for axis in "xy")
            assert 0 <= x < width
            assert 0 < y < height


def test_tiles_legal_and_refused():
    def tiles(text: str, **options: object) -> list[str]:
        root = ET.fromstring(gcg.explain(text, targets=()).svg(**options))
        return [e.get("class", "") for e in group(root, "tiles")]

    assert tiles(SWEEP) == ["tile"] * 4
    assert tiles(SWEEP, tiles=(2, 3)) == ["tile"] * 6
    assert tiles(SWEEP, tiles=(0, 0)) == []
    assert set(tiles(DIAGONAL)) == {"refused"}
    assert tiles(TILED).count("tile") == 6
    assert "refused: a dependence points backward along loop j" not in tiles(DIAGONAL)


def test_other_loops_other_picture():
    explanation = gcg.explain(example("matmul"), targets=())
    assert explanation.svg(loops=("i", "j")) != explanation.svg()
    with pytest.raises(errors.NoPicture, match="Choose one of: j,k, i,k, i,j"):
        explanation.svg(loops=("k", "i"))
    with pytest.raises(errors.InvalidOption, match="the outer one first"):
        explanation.svg(loops=("k",))
    with pytest.raises(errors.InvalidOption, match="Pass one of space, tree, kernel"):
        explanation.svg(picture="colours")
    with pytest.raises(errors.NoPicture, match="there are 1 nests"):
        explanation.svg(1)


def test_the_tree_as_boxes():
    root = ET.fromstring(gcg.explain(LU, targets=()).svg(picture="tree"))
    words = [e.text for e in root.iter(f"{NAMESPACE}text")]
    kinds = ("domain", "band", "sequence", "filter", "leaf")
    counts = [words.count(kind) for kind in kinds]
    assert counts == [1, 2, 1, 2, 2]


class Page(HTMLParser):
    """Tags, addresses and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        linking = {"src", "href", "xlink:href", "action", "data"}
        self.addresses += [str(value) for name, value in attrs if name in linking]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.slow
def test_the_page_stands_alone():
    text = gcg.explain(example("jacobi_2d"), sizes=64).html()
    page = Page(text)
    assert all(address.startswith("#") for address in page.addresses)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?:", text)
    assert page.tags.count("svg") >= 6
    assert page.tags.count("style") == page.tags.count("svg") + 1
    words = "".join(page.words)
    assert "who writes B" in words
    assert "races: proven absent" in words


def test_who_writes_what():
    explanation = gcg.explain(example("matmul"), targets=("cuda",), sizes=256)
    (kernel,) = explanation.functions[0].mappings[0].kernels
    (share,) = [s for s in kernel.shares if s.array == "C"]
    root = ET.fromstring(explanation.svg(picture="kernel"))
    cells = [e for e in root.iter(f"{NAMESPACE}rect") if e.get("class") == "hue0"]
    drawn = [e for e in cells if not e.get("opacity")]
    # the cells of thread 0, and the sample of the legend
    assert len(drawn) == len(share.threads[0]) + 1
    assert len(share.blocks) == 4
    assert {tuple(s.lower for s in b) for b in share.blocks} == {
        (i, j) for i in (0, share.extents[0]) for j in (0, share.extents[1])
    }
    with pytest.raises(errors.NoPicture, match="no kernel was made from it"):
        gcg.explain(example("matmul"), targets=()).svg(picture="kernel")


HOSTILE = "<script>alert(1)</script>&\\1B[2J"


def test_hostile_names_are_escaped():
    text = DIAGONAL.replace("@diagonal", f'@"{HOSTILE}"').replace("%A", "%A$.-_x")
    explanation = gcg.explain(text, targets=("cuda",), sizes=16)
    page = explanation.html()
    assert "<script" not in page
    assert "script" not in Page(page).tags
    assert "<script>alert(1)</script>" in "".join(Page(page).words)
    root = ET.fromstring(explanation.svg())
    assert any("<script>" in (e.text or "") for e in root.iter(f"{NAMESPACE}text"))
    assert "\x1b" not in explanation.text() + page + explanation.svg()


def test_hostile_places_are_escaped():
    text = DIAGONAL.replace(
        "affine.store %x0, %A[%i, %j] : memref<?x?xf32>",
        'affine.store %x0, %A[%i, %j] : memref<?x?xf32> loc("<b>\\1B\\00":1:1)',
    )
    explanation = gcg.explain(text, targets=())
    assert "\x1b" not in explanation.text()
    assert "\\x1b" in explanation.text()
    assert "b" not in Page(explanation.html()).tags
