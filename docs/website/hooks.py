"""What MkDocs calls: pages are made, links led to where they lead on the site."""

from __future__ import annotations

import runpy
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from website import gallery, mlir, navigation, pages, reference  # noqa: E402

MADE = {**gallery.PAGES, **reference.PAGES}
"""Pages of the site that are no files: their name, section, title and text."""
CARRIED = {at: ROOT / name for name, at in pages.CARRIED.items()}
SOURCES = CARRIED | dict.fromkeys(MADE, pages.DOCS / "index.md")
"""Where links of pages start from, if not from the page itself."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the order of pages from the index; each page says of which version it is."""
    mlir.register()
    config.nav = navigation.navigation(_index())
    config.copyright = f"gpucodegen {_version()}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that the code makes, and the files that pages link to."""
    for at, made in MADE.items():
        files.append(File.generated(config, at, content=made.text()))
    written = {file.src_uri: pages.DOCS / file.src_uri for file in files}
    for at, path in CARRIED.items():
        files.append(File.generated(config, at, content=path.read_text("utf-8")))
    for path in sorted(_linked({**written, **CARRIED})):
        at, text = pages.shown_at(path), pages.file_page(path)
        files.append(File.generated(config, at, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The text of a page with the links and blocks of the site."""
    at = page.file.src_uri
    if at.startswith(pages.SHOWN):
        return markdown
    if at == "index.md":
        return _index()
    return pages.rendered(markdown, SOURCES.get(at, pages.DOCS / at), at)


def _version() -> str:
    place = ROOT / "gpucodegen" / "debugging" / "version.py"
    return str(runpy.run_path(str(place))["__version__"])


@cache
def _index() -> str:
    """docs/index.md as the site shows it, with entries for the pages that are made."""
    entries: dict[str, list[str]] = {}
    for at, made in MADE.items():
        line = f"- [{made.title}]({at}): {made.about}."
        entries.setdefault(made.section, []).append(line)
    path = pages.DOCS / "index.md"
    text = navigation.with_entries(path.read_text("utf-8"), entries)
    return pages.rendered(text, path, path.name)


def _linked(sources: dict[str, Path]) -> set[Path]:
    """Files outside of docs/ that pages lead to, and those in folders of them."""
    found: set[Path] = set()
    for path in sources.values():
        if path.suffix == ".md" and path.is_file():
            found.update(pages.outside(path.read_text("utf-8"), path))
    found -= {*CARRIED.values()}
    for folder in [path for path in found if path.is_dir()]:
        found.update(pages.files_of(folder))
    return found
