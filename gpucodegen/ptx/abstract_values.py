"""Abstract interpretation of integer registers: per-thread values and an unknown.

A thread's own coordinates are known, those of its block and the trips of a loop are
not; but all threads of a block share them, and strides make them multiples of some
step. Rules are exact, or give up: a number with an unknown part keeps it only under
operations that preserve multiples.  Overflow of index arithmetic is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import numpy as np

from gpucodegen.ptx.types import Array
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """``own + u``: ``own`` by thread, and one unknown multiple ``u`` of ``step``.

    A ``step`` of 0 means that the value is known.  ``own`` has one element if threads
    agree. ``u`` lies between 0 and ``most``; None: unbounded.
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
        """Whether the value of every thread is known."""
        return self.step == 0

    @property
    def power(self) -> int:
        """The largest power of two that divides the unknown part."""
        return self.step & -self.step

    @property
    def alignment(self) -> int:
        """The largest power of two that divides all numbers, 0 if all are zero."""
        bits = int(np.bitwise_or.reduce(self.own)) | self.step
        return bits & -bits

    @property
    def largest(self) -> int | None:
        """The maximum, if no number is negative and a bound is known."""
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
    """A known number, one for all threads or one of each; plus multiples of ``step``.

    >>> exact(np.array([3, 3])), exact(4, 32)
    ([3] + 0u, [4] + 32u)
    """
    own = np.atleast_1d(np.asarray(values)).astype(np.int64)
    if own.size > 1 and (own == own[0]).all():
        own = own[:1]
    return Known(own, step, most if step else 0)


def join(one: Fact, other: Fact, *, widen: bool = False) -> Fact:
    """The join of two facts, if all threads of a block take the same path.

    ``widen`` drops the bound of the unknown part, so that iteration ends: ``own``
    stays, and ``step`` can only fall.

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
    """Whether two facts are equal."""
    if one is None or other is None:
        return one is other
    alike = one.step == other.step and one.most == other.most
    return alike and np.array_equal(one.own, other.own)


Rule = Callable[..., Fact]


def add(a: Known, b: Known) -> Fact:
    """A sum.

    >>> add(exact(np.arange(3)), exact(4, 32))
    [4, 5, 6] + 32u
    """
    return exact(a.own + b.own, gcd(a.step, b.step), _sum(a.most, b.most))


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def sub(a: Known, b: Known) -> Fact:
    return exact(a.own - b.own, gcd(a.step, b.step))


def mul(a: Known, b: Known) -> Fact:
    """A product; one factor must be known.

    >>> mul(exact(np.arange(3), 32), exact(4))
    [0, 4, 8] + 128u
    """
    if b.is_exact and b.is_uniform:
        by = int(b.own[0])
        most = None if a.most is None or by < 0 else a.most * by
        return exact(a.own * by, a.step * abs(by), most)
    if a.is_exact and a.is_uniform:
        return mul(b, a)
    return exact(a.own * b.own) if a.is_exact and b.is_exact else _unless_varying(a, b)


def mad(a: Known, b: Known, c: Known) -> Fact:
    """A product and a sum."""
    product = mul(a, b)
    return None if product is None else add(product, c)


def shl(a: Known, b: Known) -> Fact:
    """A product with a power of two."""
    if b.is_exact and b.is_uniform:
        return mul(a, exact(1 << int(b.own[0])))
    return _unless_varying(a, b)


def shr(a: Known, b: Known) -> Fact:
    """A quotient by a power of two.

    >>> shr(exact(np.array([0, 4]), 32), exact(2))
    [0, 1] + 8u
    """
    if b.is_exact and b.is_uniform and a.step % (1 << int(b.own[0])) == 0:
        by = int(b.own[0])
        return exact(a.own >> by, a.step >> by, a.most and a.most >> by)
    return _unless_varying(a, b)


def and_(a: Known, b: Known) -> Fact:
    """Bitwise and.

    >>> and_(exact(np.arange(3) + 7, 32), exact(7)), and_(exact(9, 32), exact(-8))
    ([7, 0, 1] + 0u, [8] + 32u)
    """
    if a.is_exact and not b.is_exact:
        return and_(b, a)
    if b.is_exact and (a.is_exact or bool(((b.own >= 0) & (b.own < a.power)).all())):
        return exact(a.own & b.own)
    if b.is_exact and bool((-b.own <= a.power).all() and (b.own < 0).all()):
        return exact(a.own & b.own, a.step, a.most)
    if b.is_exact and b.is_uniform and int(b.own[0]) > 0:
        mask = int(b.own[0])
        if a.largest is not None and a.largest <= mask and not mask & (mask + 1):
            return a
        if int(a.own.min()) >= 0 and int(a.own.max()) < a.power:
            above = mask & -a.power  # bits of the unknown part, which carries into none
            return exact(a.own & mask, above & -above, above)
    return _unless_varying(a, b)


def bfe(a: Known, b: Known, c: Known) -> Fact:
    """Bits of a non-negative number, shifted to its low end.

    >>> bfe(exact(np.array([7, 12])), exact(2), exact(1))
    [1] + 0u
    """
    if not (c.is_exact and c.is_uniform):
        return None
    shifted = shr(a, b)
    mask = (1 << int(c.own[0])) - 1
    return None if shifted is None else and_(shifted, exact(mask))


def _low_bits(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """A bitwise operation on numbers without common bits, as an addition."""

    def applied(a: Known, b: Known) -> Fact:
        if a.is_exact and not b.is_exact:
            return applied(b, a)
        low = b.is_exact and bool(((b.own >= 0) & (b.own < a.power)).all())
        if low or (a.is_exact and b.is_exact):
            return exact(rule(a.own, b.own), a.step, a.most)
        for above, below in ((a, b), (b, a)):
            if below.largest is not None and below.largest < above.alignment:
                return add(above, below)
        return _unless_varying(a, b)

    return applied


def rem(a: Known, b: Known) -> Fact:
    """A remainder of non-negative numbers.

    >>> rem(exact(0, 16), exact(32)), rem(exact(np.arange(3)), exact(2))
    ([0] + 16u, [0, 1, 0] + 0u)
    """
    if not a.is_exact and a.is_uniform and b.is_exact and b.is_uniform:
        by = int(b.own[0])
        return exact(0, gcd(a.step, int(a.own[0]), by), max(by - 1, 0))
    return _divided(np.remainder)(a, b)


def _divided(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """A quotient or remainder of known, non-negative numbers."""

    def applied(a: Known, b: Known) -> Fact:
        known = a.is_exact and b.is_exact
        if known and bool((a.own >= 0).all() and (b.own > 0).all()):
            return exact(rule(a.own, b.own))
        return _unless_varying(a, b)

    return applied


def _plain(rule: Callable[..., np.ndarray]) -> Rule:
    """Any function of known numbers."""

    def applied(*values: Known) -> Fact:
        if all(value.is_exact for value in values):
            return exact(rule(*(value.own for value in values)))
        return _unless_varying(*values)

    return applied


def _unless_varying(*values: Known) -> Fact:
    return UNKNOWN if all(value.is_uniform for value in values) else None


def negated(a: Known) -> Fact:
    return exact(-a.own, a.step)


def same_value(a: Known) -> Fact:
    return a


COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def compare(name: str) -> Rule:
    """A comparison, as 0 or 1."""
    return _plain(COMPARISONS[name])


RULES: dict[str, Rule] = {
    "mov": same_value,
    "cvt": same_value,
    "cvta": same_value,
    "add": add,
    "sub": sub,
    "mul": mul,
    "mad": mad,
    "shl": shl,
    "bfe": bfe,
    "shr": shr,
    "and": and_,
    "or": _low_bits(np.bitwise_or),
    "xor": _low_bits(np.bitwise_xor),
    "div": _divided(np.floor_divide),
    "rem": rem,
    "min": _plain(np.minimum),
    "max": _plain(np.maximum),
    "neg": negated,
}
"""By opcode; results of other opcodes are unknown."""
