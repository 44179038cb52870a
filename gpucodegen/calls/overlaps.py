"""Overlap check of arguments of which one is written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from gpucodegen import errors
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.runnable import Runnable
from gpucodegen.runtime.host.buffers import Buffer

Touching = tuple[int, int, int, int]
"""Two arguments that must not overlap, and the open interval of their address
differences in which they do."""


def checked_apart(
    executable: Runnable,
    signature: Signature,
    values: Sequence[Any],
    copied: Sequence[int] = (),
) -> tuple[Touching, ...]:
    """The pairs of arguments that must not overlap.

    Raises OverlappingArguments.

    One of the pair is written, and they share no alias group; or the call copies one of
    them, so that it would not see writes to the other.
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
    """The open interval of address differences in which two buffers overlap.

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
