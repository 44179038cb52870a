"""Wording of places, distances, sizes and tables in reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpucodegen.ir.locations import Location, file_location
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Interval

Lines = Iterator[str]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A module's source text, to quote its lines; empty if unavailable."""

    lines: tuple[str, ...] = ()

    @staticmethod
    def of(text: str) -> SourceLine:
        return SourceLine(tuple(text.split("\n")))

    def quote(self, location: Location) -> str:
        """``file:line:column: the line``."""
        place = file_location(location)
        if place is None:
            return "at an unknown place"
        known = 0 < place.line <= len(self.lines)
        line = self.lines[place.line - 1].strip() if known else ""
        return f"{place}: {line}" if line else str(place)


def indented(lines: Iterable[str], by: int = 2) -> Lines:
    """Lines further to the right."""
    return (f"{' ' * by}{line}" if line else "" for line in lines)


def section(title: str, lines: Iterable[str]) -> Lines:
    """A title and its lines; nothing without lines.

    >>> list(section("loops", ["i: parallel"])), list(section("bands", []))
    (['loops', '  i: parallel'], [])
    """
    inner = list(lines)
    if inner:
        yield title
        yield from indented(inner)


def distances(found: Sequence[Interval]) -> str:
    """Distances of a dependence, a number where there is only one.

    >>> distances([Interval(0, 0), Interval(1, None)])
    '(0, [1, +inf])'
    """
    shown = (str(d) if d.exact is None else str(d.exact) for d in found)
    return f"({', '.join(shown)})"


def size(count: int | None) -> str:
    """Bytes with their unit.

    >>> size(512), size(16384), size(3 << 20), size(None)
    ('512 B', '16 KiB', '3 MiB', 'unbounded')
    """
    if count is None:
        return "unbounded"
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.4g} {unit}"


def counted(count: float, noun: str) -> str:
    """A number of things.

    >>> counted(1, "block"), counted(20000, "block"), counted(1.0, "sector")
    ('1 block', '20000 blocks', '1 sector')
    """
    shown = str(count) if isinstance(count, int) else f"{count:.4g}"
    return f"{shown} {noun}{'' if shown == '1' else 's'}"


def box(extents: Sequence[int | None]) -> str:
    """Extents of a box.

    >>> box((16, None)), box(())
    ('16 x ?', '1')
    """
    return " x ".join("?" if n is None else str(n) for n in extents) or "1"


def equations(values: Mapping[str, int]) -> str:
    """``N = 8, M = 6``."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def table(rows: Sequence[Sequence[str]]) -> Lines:
    r"""Columns of equal width.

    >>> print(*table([("A", "1"), ("long", "22")]), sep="\n")
    A     1
    long  22
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
