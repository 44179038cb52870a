"""Python's ``min`` and ``max``, and functions of ``math``: divisors to closeness."""

from __future__ import annotations

import math
from typing import Any


def smallest(items: Any) -> Any:  # NaN compares false
    assert len(items) > 0, "min() of no items"
    found = items[0]
    for item in items:
        found = min(found, item)
    return found


def largest(items: Any) -> Any:
    assert len(items) > 0, "max() of no items"
    found = items[0]
    for item in items:
        found = max(found, item)
    return found


def gcd(a: Any, b: Any) -> Any:
    a, b = abs(int(a)), abs(int(b))
    while b != 0:
        a, b = b, a % b
    return a


def lcm(a: Any, b: Any) -> Any:
    a, b = abs(int(a)), abs(int(b))
    return a // max(gcd(a, b), 1) * b


def comb(n: Any, k: Any) -> Any:
    assert n >= 0, "comb() of a negative number"
    assert k >= 0, "comb() of a negative number"
    count = 1
    for i in range(min(int(k), int(n) - int(k))):
        count = count * (int(n) - i) // (i + 1)
    return count * int(k <= n)


def isqrt(n: Any) -> Any:
    assert n >= 0, "isqrt() of a negative number"
    largest = 3037000499  # its square has 63 bits
    root = min(int(math.sqrt(float(n))), largest)
    while root * root > int(n):
        root -= 1
    while root < largest and (root + 1) * (root + 1) <= int(n):
        root += 1
    return root


def factorial(n: Any) -> Any:
    assert n >= 0, "factorial() of a negative number"
    product = 1
    for factor in range(2, int(n) + 1):
        product *= factor
    return product


def radians(x: Any) -> Any:
    return float(x) * (math.pi / 180)


def degrees(x: Any) -> Any:
    return float(x) * (180 / math.pi)


def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    a, b = float(a), float(b)
    largest = max(abs(a), abs(b))
    limit = max(rel_tol * largest, abs_tol)
    return a == b or (abs(a - b) <= limit and largest < math.inf)
