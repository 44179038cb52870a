"""Prefetches of neighbours in one buffer are one statement.

    affine.prefetch %C[%i, %j + 24], write, ...
    affine.prefetch %C[%i, %j + 32], write, ...
    affine.prefetch %C[%i, %j + 39], write, ...
    =>  prefetch_write3(C, i * 900 + j + 24, (0, 8, 15))

A tile fetches dozens of lines, and Numba's time grows with every call and sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.emit.text.source import SourceWriter
from gpucodegen.ir.affine.expressions import AffineExpr, linear_form


@dataclass(frozen=True, slots=True)
class _Statement:
    """Elements at ``distances`` from ``first``, printed at the end of a writer."""

    function: str
    pointer: str
    first: AffineExpr
    end: tuple[int, int]
    """How many lines there were after it, and how deep it stands."""
    distances: tuple[int, ...] = (0,)

    def reach(self, other: _Statement) -> int | None:
        """How far after this another one begins; None if it cannot join it."""
        terms, start = linear_form(self.first)
        others, place = linear_form(other.first)
        is_next = (self.function, self.pointer, self.end) == (
            other.function,
            other.pointer,
            other.end,
        )
        return place - start if is_next and terms == others else None


@dataclass(slots=True)
class Prefetches:
    """The prefetches of one function."""

    writer: SourceWriter
    _last: _Statement | None = None

    def add(
        self,
        function: str,
        pointer: str,
        place: AffineExpr,
        printed: Callable[[AffineExpr], Text],
    ) -> None:
        """Print a prefetch, in the last line if that is one it can join.

        ``printed`` gives the text of the place for a separate line.
        """
        new, last = _Statement(function, pointer, place, self._end), self._last
        distance = None if last is None else last.reach(new)
        if last is None or distance is None:
            self.writer.line(str(call(function, pointer, printed(place), "(0,)")))
            self._last = replace(new, end=self._end)
            return
        distances = (*last.distances, distance)
        self.writer.lines[-1] = self.writer.lines[-1].replace(
            f", {last.distances})", f", {distances})", 1
        )
        self._last = replace(last, distances=distances)

    @property
    def _end(self) -> tuple[int, int]:
        return len(self.writer.lines), self.writer.depth
