"""Identifiers of generated source: nothing but checked ASCII names gets into it."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 40
RESERVED = frozenset({*keyword.kwlist, *dir(builtins), "cuda", "intrinsics", "rt"})


def sanitized(hint: str, default: str = "v") -> str:
    """The nearest plain identifier to a hint from the user's text.

    >>> sanitized("A.tile-0"), sanitized("0"), sanitized("'); evil("), sanitized("")
    ('A_tile_0', 'v0', 'evil', 'v')
    """
    name = _UNSAFE.sub("_", hint)[:_LONGEST].strip("_")
    if not name:
        return default
    return f"{default}{name}" if name[0].isdigit() else name


@dataclass(slots=True)
class Names:
    """The names used in one scope.

    >>> names = Names()
    >>> names.fresh("i"), names.fresh("i"), names.fresh("range")
    ('i', 'i_1', 'range_1')
    """

    taken: set[str] = field(default_factory=lambda: set(RESERVED))
    _counts: dict[str, int] = field(default_factory=dict[str, int])

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names from being given out."""
        self.taken.update(names)

    def fresh(self, hint: str, default: str = "v") -> str:
        """A name like ``hint`` that nothing else has."""
        base = sanitized(hint, default)
        name, count = base, self._counts.get(base, 0)
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count
        self.taken.add(name)
        return name
