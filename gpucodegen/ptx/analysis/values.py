"""A register as far as the text tells: what each thread knows, plus a shared number.

A thread's own coordinates are known, those of its block and the trips of a loop are
not; but all threads of a block share them, and strides make them multiples of
something.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from gpucodegen.ptx.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """``own + u``: ``own`` by thread, and one unknown multiple ``u`` of ``step``.

    A ``step`` of 0 leaves nothing unknown.  ``own`` has one element if threads agree.
    ``u`` lies between 0 and ``most``; None: anywhere.
    """

    own: Array
    step: int = 0
    most: int | None = 0

    @property
    def is_uniform(self) -> bool:
        """Whether all threads have the same number."""
        return self.own.size == 1

    @property
    def is_exact(self) -> bool:
        """Whether nothing is unknown."""
        return self.step == 0

    @property
    def power(self) -> int:
        """The largest power of two that divides what is unknown."""
        return self.step & -self.step

    @property
    def alignment(self) -> int:
        """The largest power of two that divides all numbers, 0 if all are zero."""
        bits = int(np.bitwise_or.reduce(self.own)) | self.step
        return bits & -bits

    @property
    def largest(self) -> int | None:
        """The largest number, if none is negative and there is one."""
        if int(self.own.min()) < 0 or (self.step and self.most is None):
            return None
        return int(self.own.max()) + (self.most or 0 if self.step else 0)

    def __repr__(self) -> str:
        return f"{self.own.tolist()} + {self.step}u"


Fact = Known | None
"""None: threads may have any numbers."""

UNKNOWN = Known(np.zeros(1, np.int64), 1, None)
"""Any number, the same for all threads."""


def exact(values: int | Array, step: int = 0, most: int | None = None) -> Known:
    """A known number of all threads, or one of each; plus multiples of ``step``.

    >>> exact(np.array([3, 3])), exact(4, 32)
    ([3] + 0u, [4] + 32u)
    """
    own = np.atleast_1d(np.asarray(values)).astype(np.int64)
    if own.size > 1 and (own == own[0]).all():
        own = own[:1]
    return Known(own, step, most if step else 0)


def join(one: Fact, other: Fact, *, widen: bool = False) -> Fact:
    """What holds on both ways, if all threads of a block come the same way.

    ``widen`` forgets how large the unknown part may be, so that a loop's number grows
    no more: ``own`` stays, and ``step`` can only fall.

    >>> join(exact(0), exact(-16)), join(exact(np.arange(2)), exact(np.arange(2) + 8))
    ([-16] + 16u, [0, 1] + 8u)
    """
    if one is None or other is None:
        return None
    difference = exact(other.own - one.own)
    if not difference.is_uniform:
        return None
    apart = int(difference.own[0])
    step, most = gcd(one.step, other.step, apart), None
    if widen:
        return Known(one.own, step, None if step else 0)
    low, high = (one, other) if apart >= 0 else (other, one)
    if low.most is not None and high.most is not None:
        most = max(low.most, high.most + abs(apart))
    return Known(low.own, step, most if step else 0)


def same(one: Fact, other: Fact) -> bool:
    """Whether two facts say the same."""
    if one is None or other is None:
        return one is other
    alike = one.step == other.step and one.most == other.most
    return alike and np.array_equal(one.own, other.own)
