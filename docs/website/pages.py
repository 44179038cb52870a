"""Text of the repository as pages of the site.

Comes in: Markdown as it stands in the repository, whose links may lead to any file of
it.  Goes out: Markdown as MkDocs reads it.  A link that leaves docs/ leads to a page of
the site that shows the file, or lists the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, relpath

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SHOWN = "files/"
"""Where the site shows files of the repository."""
CARRIED = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages beside README, and their names on the site."""

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
_DIRECTIVE = re.compile(r" *# doctest:.*$", re.MULTILINE)
_LANGUAGES = {".mlir": "mlir", ".py": "python", ".sh": "sh", ".toml": "toml"}


def rendered(text: str, source: Path, page: str) -> str:
    """A file's Markdown for the page of the site that it becomes."""
    parts = _FENCED.split(text)
    prose = (_linked(part, source, page) for part in parts[::2])
    blocks = [*map(_block, parts[1::2]), ""]
    return "".join(a + b for a, b in zip(prose, blocks, strict=True))


def outside(text: str, source: Path) -> Iterator[Path]:
    """Files and folders outside of docs/ that a page links to.

    >>> [path.name for path in outside("[x](../tests) [y](z.md)", DOCS / "a.md")]
    ['tests']
    """
    for prose in _FENCED.split(text)[::2]:
        for link, _ in _LINK.findall(prose):
            path = _target(link, source)
            if path is not None and not path.is_relative_to(DOCS):
                yield path


def shown_at(path: Path) -> str:
    """The page of the site that shows a file of the repository.

    >>> shown_at(ROOT / "examples" / "matmul.mlir")
    'files/examples/matmul.mlir.md'
    """
    name = path.relative_to(ROOT).as_posix()
    return CARRIED.get(name, f"{SHOWN}{name}.md")


def file_page(path: Path) -> str:
    """A file as a block, or a folder as a list of links to its files."""
    name = path.relative_to(ROOT).as_posix()
    head = f"---\nsearch:\n  exclude: true\n---\n# {name}\n\n"
    if path.is_dir():
        to = ((p, _from(shown_at(path), shown_at(p))) for p in files_of(path))
        return head + "".join(f"- [{p.relative_to(path)}]({at})\n" for p, at in to)
    language = _LANGUAGES.get(path.suffix, "text")
    return f"{head}````{language}\n{path.read_text('utf-8').rstrip()}\n````\n"


def files_of(folder: Path) -> list[Path]:
    """The texts in a folder and the folders in it."""
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    return [p for p in found if "__pycache__" not in p.parts]


def _target(link: str, source: Path) -> Path | None:
    if "://" in link or link.startswith("mailto:"):
        return None
    return Path(os.path.normpath(source.parent / link))


def _from(page: str, target: str) -> str:
    """A link between pages of the site."""
    return relpath(target, dirname(page) or ".")


def _linked(prose: str, source: Path, page: str) -> str:
    """Text whose links lead from the page to where their targets are on the site."""

    def moved(found: re.Match[str]) -> str:
        path = _target(found[1], source)
        if path is None:
            return found[0]
        inside = path.is_relative_to(DOCS)
        at = path.relative_to(DOCS).as_posix() if inside else shown_at(path)
        return f"]({_from(page, at)}{found[2] or ''})"

    return _LINK.sub(moved, prose)


def _block(text: str) -> str:
    """A block as it is shown: sessions as such, without what only tests need."""
    found = _FENCE.fullmatch(text)
    if found is None:
        return text
    language, title, body = found.groups()
    if ">>> " in body:
        language = "pycon"
        body = _DIRECTIVE.sub("", body).replace("<BLANKLINE>", "").rstrip() + "\n"
    named = f' title="{title}"' if title else ""
    return f"```{language}{named}\n{body}```"
