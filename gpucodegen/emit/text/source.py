"""A small writer of Python source: indented lines and where they come from."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath

from gpucodegen.ir.locations import UNKNOWN, Location, file_location

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
        """Put a line before an earlier one."""
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
        """All lines."""
        return "\n".join(self.lines)
