"""Spellings of older documents: which word means which operation of today.

Each vintage is a table in a file of its own; this one asks them in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpucodegen.dialects.syntax import State
from gpucodegen.parser import vintage_2019

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser

OldForm = Callable[["Parser", State], None]


def lookup(name: str) -> OldForm | None:
    """What reads an old operation after its name, if some vintage has one."""
    return vintage_2019.FORMS.get(name)


def modern_name(name: str) -> str | None:
    """Today's name of an operation written in generic form under an old one."""
    return vintage_2019.RENAMED.get(name.removeprefix("std."))


def is_old_spelling(p: Parser, name: str, state: State) -> bool:
    """Read the operation as an old form, if its words mean something else today."""
    adapter = vintage_2019.AMBIGUOUS.get(name)
    return adapter is not None and adapter(p, state)
