"""What a terminal shows on standard error: diagnostics in colours, work that goes on.

With rich, the extra ``cli``; plain text without it, in files and in pipes.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

SILENCE = 1.0
"""Seconds after which a command says that it is at work."""
STYLES = {
    r"\berror:": "bold red",
    r"\bwarning:": "bold yellow",
    r"\bnote:": "bold cyan",
    r"(?m)^\s*\^$": "bold green",
    r"(?m)^[^\s:]+:\d+:\d+:": "bold",
}


def is_watched() -> bool:
    """Whether rich writes to a terminal."""
    return sys.stderr.isatty() and importlib.util.find_spec("rich") is not None


@cache
def _console() -> Console:
    """One for all: what is told while a line is shown comes above it."""
    from rich.console import Console

    return Console(stderr=True)


def tell(diagnostic: object) -> None:
    """An error or a warning, on standard error."""
    if not is_watched():
        sys.stderr.write(f"{diagnostic}\n")
        return
    from rich.text import Text

    text = Text(str(diagnostic))
    for pattern, style in STYLES.items():
        text.highlight_regex(pattern, style)
    _console().print(text, soft_wrap=True)


@contextmanager
def at_work(what: str) -> Generator[None]:
    """A line that says so after a second, and is gone when the work is done.

    >>> with at_work("compiling"):
    ...     pass
    """
    if not is_watched():
        yield
        return
    line = _console().status(what)
    timer = Timer(SILENCE, line.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        line.stop()
