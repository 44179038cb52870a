"""The documentation as a site: it builds without a warning and has no dead link."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import gpucodegen as gcg
from tests.house.readme import ROOT

DOCS = ROOT / "docs"
SITE = DOCS / "website"


@pytest.mark.parametrize("name", ["navigation", "pages"])
def test_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    module = import_module(f"website.{name}")
    assert doctest.testmod(module).attempted
    assert doctest.testmod(module).failed == 0


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    pages = [p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")]
    assert [p for p in pages if f"({p})" not in index] == ["index.md"]


class Page(HTMLParser):
    """The places of a page, and where its links lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places, self.links = set[str](), set[str]()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name in {"id", "name"}:
                self.places.add(value or "")
            if name in {"href", "src"}:
                self.links.add(value or "")


def dead(pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = path
            if parts.path:
                target = Path(os.path.normpath(path.parent / unquote(parts.path)))
            there = target in pages or target.is_file()
            place = unquote(parts.fragment)
            if not there or (place and place not in pages[target].places):
                yield f"{path.name}: {link}"


@pytest.mark.slow
def test_the_site_has_no_dead_links(tmp_path: Path) -> None:
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="the extra docs is not installed")
    options = ["--strict", "-f", str(SITE / "mkdocs.yml"), "-d", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *options],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "index.html").read_text("utf-8")
    assert f"gpucodegen {gcg.__version__}" in index
    pages = {path: Page(path) for path in tmp_path.rglob("*.html")}
    pages.pop(tmp_path / "404.html")  # its links are those of a server's root
    assert len(pages) > 50
    assert sorted(dead(pages)) == []
    outside = {
        link
        for page in pages.values()
        for link in page.links
        if link.endswith((".js", ".css")) and "://" in link
    }
    assert outside == set(), "nothing is loaded from elsewhere"
