"""The head of a generated module: which intrinsics it takes from which face."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gpucodegen.emit.text.names import PythonNames

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
    r"""What one generated module imports from a face of the intrinsics.

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
        """The name of an infinity or of NaN, which have no literals."""
        name = str(abs(value))
        self._special.add(name)
        return f"-{name}" if value < 0 else name

    def made(self, hint: str, factory: str, *arguments: Argument) -> str:
        """The name of what a factory makes for the arguments.

        Their text tells them apart: the numbers 0.0 and -0.0 are equal.
        """
        call = f"intrinsics.{factory}({', '.join(map(literal, arguments))})"
        if call not in self._made:
            self._made[call] = self.names.fresh(hint, lasting=True)
        return self._made[call]

    def lines(self) -> list[str]:
        """Imports, then the intrinsics made for this module, in order of name."""
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
