"""Writer of Python source: indentation, unique names, imports, source locations.

Only sanitized ASCII identifiers enter the generated text.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import field
from itertools import count
from pathlib import PurePath

from gpucodegen.ir.locations import UNKNOWN, Location, file_location
from gpucodegen.records import dataclass

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 40  # characters of a hint that an identifier keeps
RESERVED = frozenset({*keyword.kwlist, *dir(builtins), "cuda", "intrinsics", "rt"})


def sanitized(hint: str, default: str = "v") -> str:
    """A valid identifier close to a hint from the user's text.

    >>> sanitized("A.tile-0"), sanitized("0"), sanitized("'); evil("), sanitized("")
    ('A_tile_0', 'v0', 'evil', 'v')
    """
    name = _UNSAFE.sub("_", hint)[:_LONGEST].strip("_")
    if not name:
        return default
    return f"{default}{name}" if name[0].isdigit() else name


@dataclass(slots=True)
class PythonNames:
    """The names in use, by scope; a closed scope releases its names.

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
    _starts: list[dict[str, int]] = field(default_factory=lambda: [dict[str, int]()])
    """By scope and base: names with smaller numbers are taken while it lasts."""

    def reserve(self, names: Iterable[str]) -> None:
        """Exclude names from later use."""
        self._lasting.update(names)

    def fresh(self, hint: str, default: str = "v", *, lasting: bool = False) -> str:
        """A unique name similar to ``hint``; a lasting one is never reused."""
        base = sanitized(hint, default)
        start = next((each[base] for each in self._starts[::-1] if base in each), 0)
        numbered = ((n, f"{base}_{n}" if n else base) for n in count(start))
        number, name = next(each for each in numbered if not self._is_taken(each[1]))
        self._starts[-1][base] = number
        (self._lasting if lasting else self._scopes[-1]).add(name)
        return name

    @contextmanager
    def scope(self) -> Generator[None]:
        """Names made inside are released after it."""
        self._scopes.append(set())
        self._starts.append({})
        try:
            yield
        finally:
            self._scopes.pop()
            self._starts.pop()

    def _is_taken(self, name: str) -> bool:
        return name in self._lasting or any(name in scope for scope in self._scopes)


Argument = int | float | str | bool | tuple["Argument", ...]


def literal(value: Argument) -> str:
    """Python text of a factory argument.

    >>> print(literal((2, -1.5, float("inf"), "f32")))
    (2, -1.5, float("inf"), "f32")
    """
    match value:
        case str():
            return f'"{value}"'
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case tuple():
            inner = ", ".join(map(literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _:
            return repr(value)


@dataclass(slots=True)
class Header:
    r"""Imports of one generated module from a backend's intrinsics.

    >>> header = Header("gpucodegen.intrinsics.cpu", PythonNames())
    >>> header.plain("float32"), header.made("splat_4xf32", "splat", (4,), "f32")
    ('float32', 'splat_4xf32')
    >>> print("\n".join(header.lines()))
    from gpucodegen.intrinsics import cpu as intrinsics
    from gpucodegen.intrinsics.cpu import float32
    <BLANKLINE>
    splat_4xf32 = intrinsics.splat((4,), "f32")
    """

    face: str
    names: PythonNames
    _plain: set[str] = field(default_factory=set[str])
    _special: set[str] = field(default_factory=set[str])
    _made: dict[str, str] = field(default_factory=dict[str, str])

    def plain(self, name: str) -> str:
        """Import a ready-made intrinsic; its name is reserved in every scope."""
        self._plain.add(name)
        return name

    def special(self, value: float) -> str:
        """The name of an infinity or NaN, which have no literals."""
        name = str(abs(value))
        self._special.add(name)
        return f"-{name}" if value < 0 else name

    def made(self, hint: str, factory: str, *arguments: Argument) -> str:
        """The name of the object that a factory makes for the arguments.

        Argument lists are compared by text, since the numbers 0.0 and -0.0 are equal.
        """
        call = f"intrinsics.{factory}({', '.join(map(literal, arguments))})"
        if call not in self._made:
            self._made[call] = self.names.fresh(hint, lasting=True)
        return self._made[call]

    def lines(self) -> list[str]:
        """Imports, then the intrinsics made for this module, sorted by name."""
        lines: list[str] = []
        if self._made:
            package, _, face = self.face.rpartition(".")
            lines.append(f"from {package} import {face} as intrinsics")
        if self._plain:
            lines += _import(self.face, sorted(self._plain))
        defined = [f'{name} = float("{name}")' for name in self._special]
        defined += [f"{name} = {call}" for call, name in self._made.items()]
        if defined:
            lines += ["", *sorted(defined)]
        return lines


def _import(face: str, names: list[str]) -> list[str]:
    head = f"from {face} import"
    line = f"{head} {', '.join(names)}"
    if len(line) <= 88:
        return [line]
    return [f"{head} (", *(f"    {name}," for name in names), ")"]


_INDENT = "    "


def place(location: Location) -> str:
    """``matmul.mlir:12`` from plain characters only, or nothing.

    >>> from gpucodegen.ir.locations import FileLoc
    >>> place(FileLoc("/home/x/mat mul.mlir", 12, 3))
    'mat_mul.mlir:12'
    """
    found = file_location(location)
    if found is None or not found.line:
        return ""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", PurePath(found.filename).name)[:60].strip(
        "_"
    )
    return f"{name}:{found.line}"


@dataclass(slots=True)
class SourceWriter:
    """Lines of source; a comment marks each change of the original location.

    >>> writer = SourceWriter()
    >>> with writer.block("def f(n):"):
    ...     writer.line("return n")
    >>> print(writer.text)
    def f(n):
        return n
    """

    lines: list[str] = field(default_factory=list[str])
    location: Location = UNKNOWN
    depth: int = 0
    _marked: str = ""

    def line(self, code: str) -> None:
        """Append a line at the current depth."""
        origin = place(self.location)
        comment = f"  # {origin}" if origin and origin != self._marked else ""
        self._marked = origin
        self.lines.append(f"{self.indented(code)}{comment}")

    def indented(self, code: str) -> str:
        """A line at the current depth."""
        return f"{_INDENT * self.depth}{code}"

    def insert(self, position: int, depth: int, code: str) -> None:
        """Insert a line before an earlier one."""
        self.lines.insert(position, f"{_INDENT * depth}{code}")

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """A compound statement; an empty body becomes ``pass``."""
        self.line(head)
        start = self.lines[-1]
        self.depth += 1
        try:
            yield
            if self.lines[-1] is start:
                self.line("pass")
        finally:
            self.depth -= 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
