"""Sums that several offsets have in common get a variable, where they first occur.

The accesses of a stencil differ by constants:

    A[i * 80 + j * 9 - t + 1], A[i * 80 + j * 9 - t - 1]
    =>  _at = i * 80 + j * 9 - t
        A[_at + 1], A[_at - 1]

LLVM finds such sums itself, but Numba's time grows with every operator of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpucodegen.emit.text.fragments import Precedence, Text, binary, number
from gpucodegen.emit.text.source import SourceWriter
from gpucodegen.ir.affine.expressions import AffineExpr, linear_form

LEAST = 3
"""Operators of a sum that is worth a variable."""

Terms = frozenset[tuple[AffineExpr, int]]


@dataclass(slots=True)
class _Sum:
    """The line that a sum first occurs in, its text there, its variable or nothing."""

    line: int
    depth: int
    text: Text
    name: str = ""


@dataclass(slots=True)
class Offsets:
    """The sums of the open blocks of one function.

    Variables begin with an underscore, as no other name in generated source does.
    """

    writer: SourceWriter
    _scopes: list[dict[Terms, _Sum]] = field(
        default_factory=lambda: [dict[Terms, _Sum]()]
    )
    _count: int = 0

    @contextmanager
    def scope(self) -> Generator[None]:
        """A block: after it, its variables may be without a value."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def text(
        self, expr: AffineExpr, printed: Callable[[AffineExpr], Text]
    ) -> Text | None:
        """The offset by a variable and a constant; None for what is printed whole.

        Call it only for expressions that the next line of the writer holds.
        """
        terms, constant = linear_form(expr)
        if _operators(terms.values()) < LEAST:
            return None
        key = frozenset(terms.items())
        known = next((s[key] for s in self._scopes if key in s), None)
        if known is None:
            whole = printed(expr - constant)
            line, depth = len(self.writer.lines), self.writer.depth
            self._scopes[-1][key] = _Sum(line, depth, whole)
            return None
        if not known.name:
            if known.line == len(self.writer.lines):  # twice in the line to come
                return None
            self._define(known)
        operator = "-" if constant < 0 else "+"
        name = Text(known.name)
        rest = number(abs(constant))
        return binary(name, operator, rest, Precedence.SUM) if constant else name

    def _define(self, known: _Sum) -> None:
        """Put the variable before the line where the sum first occurs."""
        known.name = f"_at{self._count or ''}"
        self._count += 1
        lines = self.writer.lines
        first = lines[known.line]
        if not first.endswith(":"):
            lines[known.line] = first.replace(known.text.code, known.name, 1)
        self.writer.insert(known.line, known.depth, f"{known.name} = {known.text}")
        for other in (each for scope in self._scopes for each in scope.values()):
            other.line += other is not known and other.line >= known.line


def _operators(factors: Iterable[int]) -> int:
    """Operators of the text of a sum with these factors."""
    found = list(factors)
    return len(found) - 1 + sum(abs(factor) != 1 for factor in found)
