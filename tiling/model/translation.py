"""Accesses up to a shift: what of an index depends on the iteration, and the constant.

The conflicts of two accesses depend on their indices without constants, and on the
difference of these constants:

    { x -> y : L(x) + a = M(y) + b }  =  { x -> y : L(x) + (a - b) = M(y) }

so accesses that differ by the same shift need the question only once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"-?\d+")
_SHIFTED = re.compile(r"(?P<head>.*[\w)]) (?P<sign>[+-]) (?P<by>\d+)(?P<tail> \+ \w+)?")


def shift_of(index: str | None) -> tuple[str | None, int]:
    """An index as something that is moved by a constant.

    >>> shift_of("2*i + n - 5"), shift_of("7"), shift_of("j + 4 + lane")
    (('2*i + n', -5), ('', 7), ('j + lane', 4))
    >>> shift_of("floor((i + 3)/2)"), shift_of(None)
    (('floor((i + 3)/2)', 0), (None, 0))
    """
    if index is None:
        return None, 0
    if _NUMBER.fullmatch(index):
        return "", int(index)
    found = _SHIFTED.fullmatch(index)
    if found is None:
        return index, 0
    amount = int(found["by"])
    by = amount if found["sign"] == "+" else -amount
    return found["head"] + (found["tail"] or ""), by


def shifts_of(
    indices: Sequence[str | None],
) -> tuple[tuple[str | None, ...], tuple[int, ...]]:
    """The same of all indices of an access.

    >>> shifts_of(("i", "j + 1"))
    (('i', 'j'), (0, 1))
    """
    moved = [shift_of(index) for index in indices]
    return tuple(index for index, _ in moved), tuple(by for _, by in moved)
