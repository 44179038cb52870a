"""Every function of numbers under `jit`, at special values of every type, is NumPy's.

The table is generated: all rows of `elementwise.ROWS` at pairs of zeros with signs,
infinities, NaN, the ends of the type, subnormal and plain numbers.  Signs of zero are
exact but those of extremes, which NumPy itself gives by the order of its operands.
"""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.python.elementwise import ROWS, kinds_of
from gpucodegen.python.scalars import NoRow

ROUNDED = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt arcsin arccos "
    "arctan arcsinh arccosh arctanh arctan2 power hypot".split()
)
"""Functions that may be 4 ULP away; docs/vector-math.md says how far each is."""
EXTREMES = frozenset({np.minimum, np.maximum, np.fmin, np.fmax})
FLOATS = ("float16", "float32", "float64")
INTEGERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()
MIXED = [
    ("uint64", "int64"), ("int8", "uint64"), ("int32", "uint64"), ("uint8", "int8"),
    ("float32", "int8"), ("bool", "int8"), ("int64", "float16"), ("float64", "bool"),
]  # fmt: skip


def special(dtype: str, *, few: bool = False) -> np.ndarray:
    """Numbers of a type at which functions differ."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in FLOATS:
        info = np.finfo(dtype)
        found = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -2.75, 3, 0.5, info.tiny]
        more = [info.min, -info.tiny, info.smallest_subnormal, 1, -1, -0.5, 2, 1e-3]
    else:
        ends = np.iinfo(dtype)
        found = [0, 1, 2, 7, ends.max, ends.min, ends.max // 2 + 1]
        found += [-1, -7] if ends.min else []
        more = [3, ends.max - 1, ends.min + 1, min(64, ends.max)]
    return np.array(found if few else [*found, *more], dtype)


def functions(first: str, second: str) -> list[np.ufunc]:
    """The functions that `jit` has for these types, but signed powers of integers."""
    found: list[np.ufunc] = []
    kinds = np.dtype(first), np.dtype(second)
    for ufunc in ROWS:
        try:
            _, result = kinds_of(ufunc, kinds[: ufunc.nin])
        except NoRow:
            continue
        is_integer = ufunc is np.power and result.kind in "iu"
        if ufunc is np.reciprocal and result.kind in "iu":
            continue  # NumPy divides 1 by 0 as C does
        if not (is_integer and kinds[1].kind == "i"):
            found.append(ufunc)
    return found


def function(ufuncs: list[np.ufunc]) -> Any:
    """A function of two arrays that returns each of the functions."""
    calls = [f"np.{u.__name__}({'a, b' if u.nin == 2 else 'a'})" for u in ufuncs]
    text = f"import numpy as np\ndef f(a, b):\n    return {', '.join(calls)},\n"
    filename = f"<numbers {hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), names)
    return names["f"]


def wrong(ufunc: np.ufunc, found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where two results differ."""
    assert found.dtype == wanted.dtype, ufunc
    if wanted.dtype.kind != "f":
        return np.flatnonzero(found != wanted)
    with np.errstate(all="ignore"):
        signs = np.signbit(found) == np.signbit(wanted)
        same = ((found == wanted) & signs) | (np.isnan(found) & np.isnan(wanted))
        if ufunc in EXTREMES:
            same |= (found == 0) & (wanted == 0)
        if ufunc.__name__ in ROUNDED:
            least = np.finfo(wanted.dtype).tiny
            ulp = np.spacing(np.maximum(abs(wanted), least)).astype("f8")
            far = abs(found.astype("f8") - wanted.astype("f8"))
            same |= signs & np.isfinite(wanted) & (far <= 4 * ulp)
    return np.flatnonzero(~same)


def differences(
    first: str, second: str, target: str, *, few: bool = False
) -> list[str]:
    """Where functions of arrays of two types differ from NumPy's."""
    grid = np.meshgrid(special(first, few=few), special(second, few=few))
    a, b = (array.ravel().copy() for array in grid)
    ufuncs = functions(first, second)
    made: list[str] = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = gcg.jit(target=target)(function(ufuncs))(a, b)
        for ufunc, result in zip(ufuncs, found, strict=True):
            wanted = ufunc(*(a, b)[: ufunc.nin])
            made += [
                f"{ufunc.__name__}({a[n]!r}, {b[n]!r}): {result[n]}"
                for n in wrong(ufunc, result, wanted)[:2]
            ]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint64"])
def test_some_numbers(dtype: str):
    assert differences(dtype, dtype, "interp", few=True) == []


SHARE = {"interp": slice(None), "cpu": slice(2, None, 4), "sim": slice(3, None, 4)}
"""Pairs of types on each target: a compiled pair takes seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("target", SHARE)
def test_numbers(target: str):
    same = [(dtype, dtype) for dtype in ("bool", *FLOATS, *INTEGERS)]
    for pair in (*same, *MIXED)[SHARE[target]]:
        assert differences(*pair, target) == [], pair


def powers(a: Any, e: Any, n: int):
    return a**e, a**n, a[0] ** e[0], n ** int(e[0])


@pytest.mark.parametrize(
    "target",
    ["interp", *(pytest.param(t, marks=pytest.mark.slow) for t in ("cpu", "sim"))],
)
def test_negative_power_of_an_integer_ends_the_call(target: str):
    """NumPy raises ValueError; unsigned exponents have no sign to test."""
    call = gcg.jit(target=target)(powers)
    a, e = np.arange(1, 5, dtype="i4"), np.array([2, 0, 3, 1], "i4")
    for found, wanted in zip(call(a, e, 2), powers(a, e, 2), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for exponents, n in ((-e, 2), (e, -2)):
        with pytest.raises(errors.AssertionFailed, match="negative power"):
            call(a, exponents, n)
    unsigned = np.array([255, 3, 0, 1], "u1")
    found = call(unsigned, unsigned, 3)[0]
    np.testing.assert_array_equal(found, unsigned**unsigned)
