"""Arguments that must not overlap, as one of them is written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from gpucodegen import errors
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.runnable import Runnable
from gpucodegen.runtime.host.buffers import Buffer

Touching = tuple[int, int, int, int]
"""Two arguments that must not overlap, and the distances of their addresses between
which they do."""


def checked_apart(
    executable: Runnable,
    signature: Signature,
    values: Sequence[Any],
    copied: Sequence[int] = (),
) -> tuple[Touching, ...]:
    """The arguments that must not overlap.  Raises OverlappingArguments.

    One of the two is written, and no group has both, or the call works on a copy of
    one: it would not see what is written to the other.
    """
    written = executable.artifact.written
    groups = executable.artifact.groups
    found: list[Touching] = []
    for one, other in combinations(range(len(values)), 2):
        a, b = values[one], values[other]
        may_write = written[one] or written[other]
        together = groups[one] is not None and groups[one] == groups[other]
        together = together and one not in copied and other not in copied
        if not may_write or together or not _are_buffers(a, b):
            continue
        distances = _touching(a, b)
        if distances is None:
            continue
        if distances[0] < a.pointer - b.pointer < distances[1]:
            names = (signature.parameters[n].name for n in (one, other))
            first, second = sorted(names)
            raise errors.OverlappingArguments(
                function=signature.function, first=first, second=second
            )
        found.append((one, other, *distances))
    return tuple(found)


def _are_buffers(*values: object) -> bool:
    return all(isinstance(value, Buffer) for value in values)


def _touching(one: Buffer, other: Buffer) -> tuple[int, int] | None:
    """Between which differences of their addresses two buffers overlap.

    [a + low, a + high) and [b + start, b + end) share a byte, if none is empty, iff
    start - high < a - b < end - low.

    >>> import numpy as np
    >>> a, b = (Buffer.of(np.zeros(8, np.float32), "f32") for _ in "ab")
    >>> _touching(a, b)
    (-32, 32)
    """
    low, high = (bound - one.pointer for bound in one.byte_range)
    start, end = (bound - other.pointer for bound in other.byte_range)
    return None if low == high or start == end else (start - high, end - low)
