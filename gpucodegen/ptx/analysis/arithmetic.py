"""Integer instructions on what is known of registers.

Rules are exact, or give up: a number of which a part is unknown keeps it only where the
operation leaves multiples alone.  Products and shifts may overflow only in text whose
indices would, which is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import numpy as np

from gpucodegen.ptx.analysis.values import UNKNOWN, Fact, Known, exact

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
    """A difference."""
    return exact(a.own - b.own, gcd(a.step, b.step))


def mul(a: Known, b: Known) -> Fact:
    """A product; one factor must be a number that is known.

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
    """Bits that both have.

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
    """Some bits of a number without a sign, shifted to its low end.

    >>> bfe(exact(np.array([7, 12])), exact(2), exact(1))
    [1] + 0u
    """
    if not (c.is_exact and c.is_uniform):
        return None
    shifted = shr(a, b)
    mask = (1 << int(c.own[0])) - 1
    return None if shifted is None else and_(shifted, exact(mask))


def _low_bits(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """An operation on numbers of which one lies below all bits of the other."""

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
    """A remainder of numbers that are not negative.

    >>> rem(exact(0, 16), exact(32)), rem(exact(np.arange(3)), exact(2))
    ([0] + 16u, [0, 1, 0] + 0u)
    """
    if not a.is_exact and a.is_uniform and b.is_exact and b.is_uniform:
        by = int(b.own[0])
        return exact(0, gcd(a.step, int(a.own[0]), by), max(by - 1, 0))
    return _divided(np.remainder)(a, b)


def _divided(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """A quotient or remainder of numbers that are known and not negative."""

    def applied(a: Known, b: Known) -> Fact:
        known = a.is_exact and b.is_exact
        if known and bool((a.own >= 0).all() and (b.own > 0).all()):
            return exact(rule(a.own, b.own))
        return _unless_varying(a, b)

    return applied


def _plain(rule: Callable[..., np.ndarray]) -> Rule:
    """Any function of numbers that are known."""

    def applied(*values: Known) -> Fact:
        if all(value.is_exact for value in values):
            return exact(rule(*(value.own for value in values)))
        return _unless_varying(*values)

    return applied


def _unless_varying(*values: Known) -> Fact:
    return UNKNOWN if all(value.is_uniform for value in values) else None


def negated(a: Known) -> Fact:
    """The number with the other sign."""
    return exact(-a.own, a.step)


def same_value(a: Known) -> Fact:
    """A copy."""
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
"""By opcode; whatever is not here gives a register of which nothing is known."""
