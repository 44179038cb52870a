"""The order of pages: the sections of docs/index.md and the links in them.

Comes in: the text of that page.  Goes out: MkDocs' navigation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Navigation = list[dict[str, str | list[dict[str, str]]]]

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^- (?:.*?: )?(?=\[)(.*?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([\w/.-]+\.md)\)")


def with_entries(index: str, made: Mapping[str, Sequence[str]]) -> str:
    r"""The page with more entries at the end of its sections.

    >>> print(with_entries("## A\n\n- [x](x.md)\n\n## B", {"A": ["- [y](y.md)"]}))
    ## A
    <BLANKLINE>
    - [x](x.md)
    - [y](y.md)
    <BLANKLINE>
    ## B
    """
    head, *rest = _SECTION.split(index)
    text = head
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        more = "".join(f"\n{line}" for line in made.get(title, ()))
        kept = body.rstrip("\n")
        text += f"## {title}{kept}{more}{body[len(kept) :]}"
    return text


def navigation(index: str) -> Navigation:
    r"""Every page that a section links to, by the text of its first link.

    >>> navigation("# T\n\n## Guides\n\n- [Calls](calls.md): with [x](x.md).")
    [{'Home': 'index.md'}, {'Guides': [{'Calls': 'calls.md'}, {'x': 'x.md'}]}]
    """
    found: Navigation = [{"Home": "index.md"}]
    _, *rest = _SECTION.split(index)
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        links = dict[str, str]()
        for text, page in _LINK.findall(body):
            links.setdefault(page, " ".join(text.split()))
        found.append({title: [{text: page} for page, text in links.items()]})
    return found
