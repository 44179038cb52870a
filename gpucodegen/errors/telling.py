"""Warnings told at the line of the caller, however deep in the package they arise."""

from __future__ import annotations

import warnings
from types import FrameType

_PACKAGE = __name__.partition(".")[0]
_BETWEEN = {"contextlib", "functools"}
"""Modules of the standard library whose frames lie between two of ours."""


def tell(warning: Warning | str) -> None:
    """Warn; the place is the innermost line outside the package.

    The :mod:`warnings` module counts frames, and no count is right for a warning that
    a pass, the parser and the cache may all cause, at any depth.
    """
    from inspect import currentframe

    frame = currentframe()
    assert frame is not None, "CPython has frames"
    while _is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    kind = type(warning) if isinstance(warning, Warning) else UserWarning
    warnings.warn_explicit(
        warning,
        kind,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<unknown>"),
        names.setdefault("__warningregistry__", {}),
    )


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0] == _PACKAGE or name in _BETWEEN
