"""String literals: their escapes and their value."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r'\\([nt\\"]|[0-9a-fA-F]{2})')
_ANY_ESCAPE = re.compile(rf"{_ESCAPE.pattern}|\\.", re.DOTALL)
_NAMED_ESCAPES = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}


def wrong_escape(token: str) -> int | None:
    r"""Where the first escape is that means nothing, if there is one.

    >>> wrong_escape(r'"\\\41\q"'), wrong_escape(r'"\\q\n"')
    (6, None)
    """
    found = _ANY_ESCAPE.finditer(token)
    return next((escape.start() for escape in found if escape[1] is None), None)


def unquote(token: str) -> str:
    r"""Value of a string literal.

    >>> unquote('"a\\22b"')
    'a"b'
    """
    body = token[1:-1]
    if "\\" not in body:
        return body
    parts = _ESCAPE.split(body)
    raw = b"".join(
        _unescaped(part) if i % 2 else part.encode("utf-8", "surrogateescape")
        for i, part in enumerate(parts)
    )
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(code: str) -> bytes:
    named = _NAMED_ESCAPES.get(code)
    return named if named is not None else bytes([int(code, 16)])
