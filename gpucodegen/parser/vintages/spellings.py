"""Spellings of older documents: which word means which operation of today.

Each vintage is a table in a file of its own; this one asks them in turn.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import (
    generic,
    gpu,
    scf,
    text_2018,
    text_2019,
    text_2020,
    views,
)
from gpucodegen.parser.vintages.linalg import forms as linalg
from gpucodegen.parser.vintages.names import RENAMED
from gpucodegen.parser.vintages.vector import forms as vector
from gpucodegen.parser.vintages.vector import generic as vector_generic

OldForm = Callable[[Parser, State], None]

_FORMS = ChainMap(
    text_2019.FORMS,
    text_2018.FORMS,
    scf.FORMS,
    vector.FORMS,
    views.FORMS,
)
_SPELLINGS = ChainMap(
    text_2020.SPELLINGS,
    gpu.SPELLINGS,
    linalg.SPELLINGS,
    vector.SPELLINGS,
)
_GENERIC = ChainMap(generic.GENERIC, text_2018.GENERIC)

is_of_2018 = text_2018.is_of_2018
is_of_2021 = text_2019.is_of_2021


def lookup(name: str) -> OldForm | None:
    """What reads an old operation after its name, if some vintage has one."""
    name = name.removeprefix("std.")
    form = linalg.lookup(name) or _FORMS.get(name)
    if form is None and name in RENAMED:
        form = text_2019.renamed(RENAMED[name])
    return form


def modern_name(p: Parser, name: str) -> str | None:
    """Today's name of an operation written in generic form under an old one.

    Names without a dialect are old only in text with functions of before 2022.
    """
    plain = name.removeprefix("std.")
    if plain == name and "." not in name and not p.is_of_2021:
        return None
    return linalg.modern_name(name) or RENAMED.get(plain)


def adapt_generic(p: Parser, state: State, *, renamed: bool) -> None:
    """Bring an operation written in generic form up to date."""
    tables = (
        _GENERIC,
        text_2020.GENERIC,
        linalg.GENERIC,
        vector_generic.GENERIC,
        views.GENERIC,
    )
    for table in tables if renamed else tables[1:]:
        adapter = table.get(state.name)
        if adapter is not None:
            adapter(p, state)


bare_signature = generic.bare_signature
function_results = generic.function_results


def is_old_spelling(p: Parser, name: str, state: State) -> bool:
    """Read the operation as an old form, if its words are in an old order."""
    spelling = _SPELLINGS.get(name)
    return spelling is not None and spelling(p, state)
