"""The section of data at the end of a file: ``{-# dialect_resources: {..} #-}``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.data.literals import is_bare, quote

RESOURCES = "gpucodegen.resources"
"""Attribute of a module with the section of its file; printed after the module."""

ALIGNMENT_BYTES = 4
_SEPARATOR = ",\n"


@dataclass(frozen=True, slots=True)
class Resource:
    """``section: {owner: {key: text}}``; the text is as written, quotes included."""

    section: str
    owner: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ResourceSection(Attribute):
    """All resources of a file, in order."""

    resources: tuple[Resource, ...]

    def __str__(self) -> str:
        sections = (
            _block(section, _owners(entries), 1)
            for section, entries in groupby(self.resources, lambda r: r.section)
        )
        return f"{{-#\n{_SEPARATOR.join(sections)}\n#-}}"


def _owners(entries: Iterable[Resource]) -> list[str]:
    return [
        _block(owner, [_entry(r) for r in own], 2)
        for owner, own in groupby(entries, lambda r: r.owner)
    ]


def _entry(resource: Resource) -> str:
    return f"      {_name(resource.key)}: {resource.text}"


def _block(name: str, body: Iterable[str], depth: int) -> str:
    indent = "  " * depth
    return f"{indent}{_name(name)}: {{\n{_SEPARATOR.join(body)}\n{indent}}}"


def _name(text: str) -> str:
    return text if is_bare(text) else quote(text)
