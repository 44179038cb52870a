"""Which values a generic text names twice where both are visible, by MLIR's rules.

A region sees the names around it, and may define none of them again, unless its
operation isolates it.  Its own names end with it.  The results of an operation are
defined after its regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup

_OPERATION = re.compile(r'(?:((?:%\S+,? ?)+)= )?"([\w.$-]+)"\(')
_RESULT = re.compile(r"(%[\w.$-]+)(?::\d+)?")
_ARGUMENT = re.compile(r"(%[\w.$-]+): ")

Scopes = list[tuple[set[str], bool]]
"""The names of the open regions, outermost first, and whether they are isolated."""


def redefinitions(text: str) -> Iterator[str]:
    """Line and name of each value that is defined while its name is taken."""
    scopes: Scopes = [(set(), True)]
    around: list[tuple[list[str], bool]] = []  # results, isolation of open operations
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        operation = _OPERATION.match(bare)
        results: list[str] = []
        if operation:
            results = _RESULT.findall(operation[1] or "")
            if bare.endswith("({"):
                around.append((results, _is_isolated(operation[2])))
                scopes.append((set(), around[-1][1]))
                continue
        elif bare.startswith("^"):
            results = _ARGUMENT.findall(bare)
        elif bare.startswith("}, {"):
            scopes[-1] = (set(), around[-1][1])
        elif bare.startswith("})"):
            scopes.pop()
            results, _ = around.pop()
        yield from _defined(number, results, scopes)


def _defined(number: int, names: Iterable[str], scopes: Scopes) -> Iterator[str]:
    for name in names:
        if name in _visible(scopes):
            yield f"line {number} defines {name} again"
        scopes[-1][0].add(name)


def _visible(scopes: Scopes) -> set[str]:
    found: set[str] = set()
    for names, is_isolated in reversed(scopes):
        found |= names
        if is_isolated:
            break
    return found


def _is_isolated(name: str) -> bool:
    definition = lookup(name)
    return definition is not None and definition.has(Trait.ISOLATED)
