"""What every scalar operation gives, in Python's numbers: the oracle.

A row is one operation at one type.  Where MLIR leaves the result open (poison,
undefined behaviour), the oracle answers None; the operation must run all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """``text`` with ``{x}``, ``{y}``, ``{z}`` for operands' types, ``{r}`` ``{s}`` for
    results'; the operands are ``%x %y %z``, the results ``%r %s``.
    """

    name: str
    text: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    want: Callable[..., Any]
    tolerance: float = 0.0
    """Of functions that no standard rounds correctly."""


def open_if(is_open: Callable[..., bool], f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with None where the result is open."""
    return lambda *args: None if is_open(*args) else f(*args)
