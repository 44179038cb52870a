"""What a page is that the code makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Made:
    """Where the index lists it, as what, with which words, and its Markdown."""

    section: str
    title: str
    about: str
    text: Callable[[], str]
