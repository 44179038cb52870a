"""What notebooks show of objects: text that folds away, and pages in a frame."""

from __future__ import annotations


def folded(title: str, text: str, *, is_open: bool = True) -> str:
    """Text under a title.

    >>> folded("a < b", "x", is_open=False)
    '<details><summary>a &lt; b</summary><pre>x</pre></details>'
    """
    from html import escape

    state = " open" if is_open else ""
    shown = f"<summary>{escape(title)}</summary><pre>{escape(text)}</pre>"
    return f"<details{state}>{shown}</details>"


def framed(page: str, title: str) -> str:
    """A whole page of HTML in a frame of its own, which runs nothing.

    >>> framed("<p>", "t")[:45]
    '<iframe title="t" sandbox="" srcdoc="&lt;p&gt'
    """
    from html import escape

    style = "width: 100%; height: 40rem; border: 0"
    return (
        f'<iframe title="{escape(title)}" sandbox="" srcdoc="{escape(page)}"'
        f' style="{style}"></iframe>'
    )
