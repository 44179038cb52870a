"""Pages for eyes, keys and screen readers: links lead somewhere, stages fold away."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import gpucodegen as gcg
from examples.catalogue import FOLDER
from gpucodegen.report.gpu.report import report

VOID = {"meta", "path", "rect", "line", "circle", "polygon", "polyline", "use"}
MATMUL = FOLDER / "matmul.mlir"


class Page(HTMLParser):
    """Elements of a page: nested as they are written, with what they are called."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.named: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.found.append((tag, attributes))
        if attributes.get("id"):
            assert attributes["id"] not in self.named
            self.named[str(attributes["id"])] = tag
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(
    scope="module", params=["explain", pytest.param("report", marks=pytest.mark.slow)]
)
def text(request: pytest.FixtureRequest) -> str:
    if request.param == "report":
        return report(MATMUL, sizes=64).html()
    return gcg.explain(MATMUL, sizes=64).html()


def test_every_link_leads_to_one_place(text: str) -> None:
    page = Page(text)
    wanted = [str(a["href"]) for a in page.all("a")]
    assert {
        link for link in wanted if link.removeprefix("#") not in page.named
    } == set()
    headings = [name for name in page.named if name.startswith("part-")]
    assert len(headings) == len(page.all("li"))


def test_places_lead_to_lines_of_the_program(text: str) -> None:
    page = Page(text)
    lines = MATMUL.read_text().split("\n")
    assert [name for name in page.named if name.startswith("line-")] == [
        f"line-{n}" for n in range(1, len(lines) + 1)
    ]
    if "generated source" in text:
        assert re.search(r'<a href="#line-18">matmul.mlir:18</a>', text)


def test_what_cannot_be_seen_is_told(text: str) -> None:
    page = Page(text)
    assert {name for name, _ in page.found} >= {"nav", "main", "aside", "details"}
    assert all(nav.get("aria-label") for nav in page.all("nav") + page.all("aside"))
    assert all(svg.get("role") == "img" for svg in page.all("svg"))
    assert len(page.all("title")) == len(page.all("svg")) + 1
    assert len(page.all("summary")) == len(page.all("details"))
    assert all(
        pre.get("tabindex") == "0" for pre in page.all("pre") if "tabindex" in pre
    )


def test_notebooks_show_short_names_and_folded_text() -> None:
    program = gcg.compile(MATMUL, target="cpu")
    explanation = gcg.explain(MATMUL, targets=())
    shown = [program, program.module, program.matmul, explanation]
    assert [repr(one) for one in shown] == [
        "<Program for 'cpu': matmul>",
        "<Module of @matmul; str() is its text>",
        f"<Function {program.matmul.signature} for 'cpu', compiled 0 times>",
        "<Explanation of @matmul; str() is its text>",
    ]
    for one in shown:
        Page(one._repr_html_())
