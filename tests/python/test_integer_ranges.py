"""Integers of Python that a dtype does not hold end a call where NumPy raises."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")


def added(a: Any, n: int) -> Any:
    return a + n


def subtracted(a: Any, n: int) -> Any:
    return n - a


def multiplied(a: Any, n: int) -> Any:
    return a * n


def divided(a: Any, n: int) -> Any:
    return a // n


def remainder(a: Any, n: int) -> Any:
    return a % n


def power(a: Any, n: int) -> Any:
    return a**n


def largest(a: Any, n: int) -> Any:
    return np.maximum(a, n)


def bits(a: Any, n: int) -> Any:
    return (a & n) ^ (a | n)


def shifted(a: Any, n: int) -> Any:
    return a >> n


def one_stored(a: Any, n: int) -> None:
    a[0] = n


def all_stored(a: Any, n: int) -> None:
    a[:] = n


def some_stored(a: Any, n: int) -> None:
    a[a > 1] = n


def places_stored(a: Any, n: int) -> None:
    a[np.array([0, 2])] = n


def filled(a: Any, n: int) -> None:
    a.fill(n)


def in_place(a: Any, n: int) -> None:
    a += n


def of_element(a: Any, n: int) -> Any:
    return a[0] + n


def new(a: Any, n: int) -> Any:
    return np.full(3, n, a.dtype), np.array([n, 1], a.dtype)


def converted(a: Any, n: int) -> Any:
    return a, np.uint8(n)


def computed(a: Any, n: int) -> Any:
    return a + (n * 2 - 3)


def initial(a: Any, n: int) -> Any:
    return np.max(a, initial=n)


def compared(a: Any, n: int) -> Any:
    return a < n, a == n, n >= a


def chosen(a: Any, n: int) -> Any:
    return np.where(a > 1, a, n)


def at_places(a: Any, n: int) -> None:
    np.add.at(a, np.array([0, 2]), n)


def clipped(a: Any, n: int) -> Any:
    return np.clip(a, 0, n)


def clipped_below(a: Any, n: int) -> Any:
    return np.clip(a, n, 100)


def clipped_to_floats(a: Any, n: int) -> Any:
    return np.clip(a, n, np.inf)


def on_a_branch(a: Any, n: int) -> None:
    if n < 100:
        a[0] = n


def counted(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        a[i] = i + n


def counted_down(a: Any, n: int) -> None:
    for i in range(a.shape[0] - 1, -1, -2):
        a[i] = n - i * 3


def halved(a: Any, n: int) -> None:
    for i in range(0, a.shape[0], 2):
        a[i] = (n + i) // 2


def in_a_triangle(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        for j in range(i):
            a[i] = i + j + n


def where_positive(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            if a[j] > 1:
                a[j] = i * j + n


def summed(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        total = 0
        for _ in range(i):
            total += n
        a[i] = total


def repeated(a: Any, n: int) -> None:
    i = 0
    while i < 3:
        a[i] = n + i
        i += 1


def until(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        if i == 2:
            break
        a[i] = n + i


def never(a: Any, n: int) -> None:
    for _ in range(a.shape[0], 0):
        a[0] = n


def whole_arrays(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        a[:] = a + (n - i)


def alternatives(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        a[i] = n if a[i] > 1 else 0


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    added, subtracted, multiplied, divided, remainder, power, largest, bits, shifted,
    one_stored, all_stored, some_stored, places_stored, filled, in_place, of_element,
    new, converted, computed, initial, compared, chosen, at_places, clipped,
    clipped_below, clipped_to_floats, on_a_branch, counted, counted_down, halved,
    in_a_triangle, where_positive, summed, repeated, until, never, whole_arrays,
    alternatives,
)  # fmt: skip


def numbers(dtype: str) -> list[int]:
    """Integers around the ends of a type, far from those of 64 bits."""
    if np.dtype(dtype).itemsize == 8 or dtype == "?":
        return [3, -1, 0]
    ends = np.iinfo(dtype)
    return [3, ends.max, ends.max + 1, ends.min, ends.min - 1, -1, 1 << 40]


def outcome(function: Callable[..., Any], dtype: str, n: int) -> Any:
    """The result and the array afterwards; else the kind of refusal."""
    a = np.array([1, 2, 0, 100]).astype(dtype)
    try:
        return function(a, n), a
    except (OverflowError, ValueError, errors.AssertionFailed):
        return "refused"
    except (TypeError, errors.PythonError):
        return "wrong type"


def differences(
    function: Callable[..., Any], dtype: str, target: str, given: list[int]
) -> list[str]:
    compiled, made = gcg.jit(target=target)(function), list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in given:
            wanted = outcome(function, dtype, n)
            found = outcome(compiled, dtype, n)
            if repr(found) != repr(wanted):
                made.append(f"{n}: {found}, not {wanted}")
    return made


CASES = [(f, d) for f in FUNCTIONS for d in DTYPES]


def name(case: tuple[Callable[..., Any], str]) -> str:
    return f"{case[0].__name__} {case[1]}"


@pytest.mark.drawn(4)
@pytest.mark.sampled(36)
@pytest.mark.cases("case", CASES, ids=name, parts=8)
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_integers_that_a_type_may_not_hold(
    case: tuple[Callable[..., Any], str], target: str
):
    assert differences(*case, target, numbers(case[1])) == []


@pytest.mark.drawn(4)
@pytest.mark.sampled(86)
@pytest.mark.cases("case", CASES, ids=name, parts=8)
def test_integers_on_the_emulated_gpu(case: tuple[Callable[..., Any], str]):
    assert differences(*case, "sim", numbers(case[1])[:4]) == []


@pytest.mark.parametrize("target", ALL)
def test_the_refusal_names_the_type_and_the_line(target: str):
    compiled = gcg.jit(target=target)(added)
    assert compiled(np.array([1, 2, 200], "u1"), 55).tolist() == [56, 57, 255]
    with pytest.raises(errors.AssertionFailed, match="uint8 does not hold") as refusal:
        compiled(np.array([1, 2, 200], "u1"), 300)
    assert "return a + n" in str(refusal.value)


def remaining(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        a[i] = i % 100 + (n & 15)
        a[i] += 1 if a[i] > n else 0
        a[i] = min(max(n, -100), 27)


@pytest.mark.parametrize(
    ("function", "dtype"), [(added, "i8"), (remaining, "i1"), (counted, "i8")]
)
def test_integers_that_certainly_fit_need_no_check(function: Any, dtype: str):
    assert "cf.assert" not in gcg.jit(function).mlir(np.zeros(4, dtype), 3)


def numbered(a: Any, n: int) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = i * a.shape[1] + j - n


def test_a_check_stands_before_the_loops():
    """The ends of both loops decide, and kernels are those without a check."""
    text = gcg.jit(numbered).mlir(np.zeros((4, 5), "i4"), 3)
    assert text.index("cf.assert") < text.index("scf.for")
    assert "cf.assert" not in text[text.index("scf.for") :]
    compiled = gcg.jit(target="sim")(numbered)
    source = compiled.source(np.zeros((40, 50), "i4"), 3)
    assert source.count("rt.launch(") == 1
    assert "for " not in source[: source.index("rt.launch(")]


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_a_check_within_a_loop_leaves_it_parallel(target: str):
    """Each iteration has a flag, which an assertion behind the loop reads."""

    def counts(x: Any, a: Any):
        for i in range(a.shape[0]):
            count = 0
            for j in range(x.shape[1]):
                if x[i, j] > 0:
                    count += 1
            a[i] = count

    x, a = np.ones((300, 130)), np.zeros(300, "u1")
    compiled = gcg.jit(target=target)(counts)
    compiled(x, a)
    assert (a == 130).all()
    with pytest.raises(errors.AssertionFailed, match="uint8 does not hold"):
        compiled(np.ones((300, 256)), a)
    if target == "sim":
        assert "(2, 1, 1), (256, 1, 1)" in compiled.source(x, a)


def test_reciprocals_of_integers_have_their_type():
    def f(a: Any):
        return np.reciprocal(a)

    for dtype in DTYPES:
        a = np.array([1, 3, 100, 1 if dtype[0] == "u" else -1]).astype(dtype)
        found, wanted = gcg.jit(target="interp")(f)(a), np.reciprocal(a)
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()
