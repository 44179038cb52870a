"""Output on terminals and in notebooks: coloured diagnostics, progress, HTML.

Terminal output uses rich (the extra ``cli``) and is plain text without it, in files and
in pipes.
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


def folded(title: str, text: str, *, is_open: bool = True) -> str:
    """Text in a collapsible section with a title.

    >>> folded("a < b", "x", is_open=False)
    '<details><summary>a &lt; b</summary><pre>x</pre></details>'
    """
    from html import escape

    state = " open" if is_open else ""
    shown = f"<summary>{escape(title)}</summary><pre>{escape(text)}</pre>"
    return f"<details{state}>{shown}</details>"


def framed(page: str, title: str) -> str:
    """An HTML page in a sandboxed frame, without scripts.

    >>> framed("<p>", "t")[:45]
    '<iframe title="t" sandbox="" srcdoc="&lt;p&gt'
    """
    from html import escape

    style = "width: 100%; height: 40rem; border: 0"
    return (
        f'<iframe title="{escape(title)}" sandbox="" srcdoc="{escape(page)}"'
        f' style="{style}"></iframe>'
    )


SILENCE = 1.0
"""Seconds after which a command shows progress."""
STYLES = {
    r"\berror:": "bold red",
    r"\bwarning:": "bold yellow",
    r"\bnote:": "bold cyan",
    r"(?m)^\s*\^$": "bold green",
    r"(?m)^[^\s:]+:\d+:\d+:": "bold",
}


def is_watched() -> bool:
    """Whether standard error is a terminal and rich is installed."""
    return sys.stderr.isatty() and importlib.util.find_spec("rich") is not None


@cache
def _console() -> Console:
    """The only console, so that diagnostics appear above a progress line."""
    from rich.console import Console

    return Console(stderr=True)


def tell(diagnostic: object) -> None:
    """Print an error or a warning on standard error."""
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
    """Show a progress line from the first second until the work is done.

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
