"""Spellings of older documents: which word means which operation of today.

Each vintage is a table in a file of its own; this one asks them in turn.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import generic as vintage_generic
from gpucodegen.parser.vintages import gpu as vintage_gpu
from gpucodegen.parser.vintages import scf as vintage_scf
from gpucodegen.parser.vintages import text_2018 as vintage_2018
from gpucodegen.parser.vintages import text_2019 as vintage_2019
from gpucodegen.parser.vintages import text_2020 as vintage_2020
from gpucodegen.parser.vintages import views as vintage_views
from gpucodegen.parser.vintages.linalg import forms as vintage_linalg
from gpucodegen.parser.vintages.names import RENAMED
from gpucodegen.parser.vintages.vector import forms as vintage_vector
from gpucodegen.parser.vintages.vector import generic as vintage_vector_generic

OldForm = Callable[[Parser, State], None]

_FORMS = ChainMap(
    vintage_2019.FORMS,
    vintage_2018.FORMS,
    vintage_scf.FORMS,
    vintage_vector.FORMS,
    vintage_views.FORMS,
)
_SPELLINGS = ChainMap(
    vintage_2020.SPELLINGS,
    vintage_gpu.SPELLINGS,
    vintage_linalg.SPELLINGS,
    vintage_vector.SPELLINGS,
)
_GENERIC = ChainMap(vintage_generic.GENERIC, vintage_2018.GENERIC)

is_of_2018 = vintage_2018.is_of_2018
is_of_2021 = vintage_2019.is_of_2021


def lookup(name: str) -> OldForm | None:
    """What reads an old operation after its name, if some vintage has one."""
    name = name.removeprefix("std.")
    form = vintage_linalg.lookup(name) or _FORMS.get(name)
    if form is None and name in RENAMED:
        form = vintage_2019.renamed(RENAMED[name])
    return form


def modern_name(p: Parser, name: str) -> str | None:
    """Today's name of an operation written in generic form under an old one.

    Names without a dialect are old only in text with functions of before 2022.
    """
    plain = name.removeprefix("std.")
    if plain == name and "." not in name and not p.is_of_2021:
        return None
    return vintage_linalg.modern_name(name) or RENAMED.get(plain)


def adapt_generic(p: Parser, state: State, *, renamed: bool) -> None:
    """Bring an operation written in generic form up to date."""
    tables = (
        _GENERIC,
        vintage_2020.GENERIC,
        vintage_linalg.GENERIC,
        vintage_vector_generic.GENERIC,
        vintage_views.GENERIC,
    )
    for table in tables if renamed else tables[1:]:
        adapter = table.get(state.name)
        if adapter is not None:
            adapter(p, state)


bare_signature = vintage_generic.bare_signature
function_results = vintage_generic.function_results


def is_old_spelling(p: Parser, name: str, state: State) -> bool:
    """Read the operation as an old form, if its words are in an old order."""
    spelling = _SPELLINGS.get(name)
    return spelling is not None and spelling(p, state)
