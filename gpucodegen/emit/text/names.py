"""Identifiers of generated source: nothing but checked ASCII names gets into it."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count, filterfalse

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
class PythonNames:
    """The names in use, scope by scope; a closed scope gives its names back.

    >>> names = PythonNames()
    >>> names.fresh("i"), names.fresh("range")
    ('i', 'range_1')
    >>> with names.scope():
    ...     names.fresh("k"), names.fresh("i")
    ('k', 'i_1')
    >>> names.fresh("k")
    'k'
    """

    _lasting: set[str] = field(default_factory=lambda: set(RESERVED))
    _scopes: list[set[str]] = field(default_factory=lambda: [set[str]()])

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names from being given out."""
        self._lasting.update(names)

    def fresh(self, hint: str, default: str = "v", *, lasting: bool = False) -> str:
        """A name like ``hint`` that nothing else has; a lasting one is never reused."""
        base = sanitized(hint, default)
        candidates = chain([base], (f"{base}_{n}" for n in count(1)))
        name = next(filterfalse(self._is_taken, candidates))
        (self._lasting if lasting else self._scopes[-1]).add(name)
        return name

    @contextmanager
    def scope(self) -> Generator[None]:
        """Names given out inside are free again after it."""
        self._scopes.append(set())
        try:
            yield
        finally:
            self._scopes.pop()

    def _is_taken(self, name: str) -> bool:
        return name in self._lasting or any(name in scope for scope in self._scopes)
