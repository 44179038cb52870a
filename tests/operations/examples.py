"""Reading the examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpucodegen.dialects.framework.registry import DIALECTS, operations
from gpucodegen.dialects.linalg.named_tables import NAMED
from tests.frontend.linalg_frame import named
from tests.scalars.positions import loop
from tests.scalars.table import Row
from tests.scalars.test_positions import TABLE

HERE = Path(__file__).parent
_HEAD = re.compile(r"^// ----- (.+)\n", re.MULTILINE)
_SCALARS = ("f32", "i32", "index", "complex<f32>", "index dialect")
_NAME = re.compile(r"(?<![\w.$])(?:arith|math|complex|index)\.[a-z_0-9]+(?:\.[a-z]+)?")


@dataclass(frozen=True, slots=True)
class Example:
    """A module with a function ``f`` that shows what an operation does.

    ``source``: where the text stands, from the folder of the tests.
    """

    operation: str
    text: str
    source: str


def names() -> list[str]:
    """Every operation of every dialect, in the order of its table."""
    return [name for dialect in DIALECTS for name in operations(dialect)]


@cache
def examples() -> dict[str, Example]:
    """The example of each operation that has one."""
    found = {e.operation: e for e in _scalars()} | {e.operation: e for e in _linalg()}
    for path in sorted((HERE / "texts").glob("*.mlir")):
        for example in _chunks(path):
            found[example.operation] = example
    return found


def _scalars() -> Iterator[Example]:
    """Rows of the table of scalars, each in a loop."""
    seen: set[str] = set()
    for ty in (*_SCALARS, *TABLE):
        for row in TABLE[ty]:
            for name in set(_NAME.findall(row.text)) - seen:
                seen.add(name)
                yield Example(name, _looped(row), "scalars")


def _looped(row: Row) -> str:
    return loop([row], 4)


def _linalg() -> Iterator[Example]:
    for name in NAMED:
        yield Example(f"linalg.{name}", named(name), "frontend/linalg_frame.py")


def _chunks(path: Path) -> Iterator[Example]:
    pieces = _HEAD.split(path.read_text(encoding="utf-8"))
    assert not pieces[0].strip(), path
    for heads, body in zip(pieces[1::2], pieces[2::2], strict=True):
        for name in heads.split():
            text = body.replace("$op", name).replace("$name", name.partition(".")[2])
            source = f"operations/texts/{path.name}"
            yield Example(name, framed(text.strip()), source)


_SIGNATURE = re.compile(r"\((.*)\)(?: -> (.*))?")


def framed(text: str) -> str:
    """A whole module of a text that may be a body alone.

    >>> print(framed("(%x: f32) -> f32\\n%r = math.sin %x : f32"))
    func.func @f(%x: f32) -> (f32) {
    %r = math.sin %x : f32
    return %r : f32
    }
    """
    first, _, body = text.partition("\n")
    match = _SIGNATURE.fullmatch(first)
    if match is None:
        return text
    given, results = match[1], match[2]
    if not results:
        return f"func.func @f({given}) {{\n{body}\nreturn\n}}"
    count = len(re.split(r", (?=[a-z!])", results))
    values = ", ".join(f"%{name}" for name in "rstuvw"[:count])
    end = f"return {values} : {results}"
    return f"func.func @f({given}) -> ({results}) {{\n{body}\n{end}\n}}"
