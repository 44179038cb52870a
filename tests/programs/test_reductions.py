"""Reductions start from what changes nothing: NaN, signed zeros, infinities, no values.

Each result is held against the same operations one after the other in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.dialects.shared.combiners import COMBINERS, OF_ATOMICS

TARGETS = ("cpu", "sim")
FLOATS = [kind for kind, row in OF_ATOMICS.items() if row.is_float]
INTEGERS = [kind for kind, row in OF_ATOMICS.items() if not row.is_float]

REFERENCES: dict[str, Callable[[Any, Any], Any]] = {
    "addf": np.add,
    "mulf": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "addi": np.add,
    "muli": np.multiply,
    "maxs": max,
    "mins": min,
    "maxu": lambda a, b: max(a, b, key=lambda x: int(x) & 0xFFFFFFFF),
    "minu": lambda a, b: min(a, b, key=lambda x: int(x) & 0xFFFFFFFF),
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
}

SPECIAL = {
    "nothing": [],
    "one": [-2.5],
    "negative zeros": [-0.0] * 5,
    "zeros": [-0.0, 0.0, -0.0],
    "all NaN": [nan] * 3,
    "NaN first": [nan, 1.0, -3.0, 2.0],
    "NaN inside": [1.0, nan, -3.0, 2.0],
    "NaN last": [1.0, 2.0, nan],
    "infinities": [-inf, 1.0, inf],
    "below all": [-inf, -inf],
    "many": [float(n % 7 - 3) for n in range(100)],
}
WHOLE = {
    "nothing": [],
    "one": [-5],
    "ends": [-(2**31), 2**31 - 1],
    "lowest": [-(2**31)] * 2,
    "highest": [2**31 - 1] * 2,
    "signs": [-1, 0, 7, -9],
    "many": [n * 2654435761 % 2**32 - 2**31 for n in range(100)],
}


def parallel(kinds: Sequence[str], ty: str) -> str:
    words = ", ".join(f'"{kind}"' for kind in kinds)
    types = ", ".join([ty] * len(kinds))
    return f"""func.func @f(%a: memref<?x{ty}>) -> ({types}) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x{ty}>
  %r:{len(kinds)} = affine.parallel (%i) = (0) to (%n) reduce ({words}) -> ({types}) {{
    %v = affine.load %a[%i] : memref<?x{ty}>
    affine.yield {", ".join(["%v"] * len(kinds))} : {types}
  }}
  return {", ".join(f"%r#{i}" for i in range(len(kinds)))} : {types}
}}"""


def loop(kinds: Sequence[str], ty: str) -> str:
    """A loop that LLVM or the vectoriser may do in lanes; it starts from arguments."""
    types = ", ".join([ty] * len(kinds))
    names = [f"%s{i}" for i in range(len(kinds))]
    carried = ", ".join(f"%t{i} = %s{i}" for i in range(len(kinds)))
    steps = "\n".join(
        f"    %u{i} = {OF_ATOMICS[kind].name} %t{i}, %v : {ty}"
        for i, kind in enumerate(kinds)
    )
    given = ", ".join(f"{name}: {ty}" for name in names)
    return f"""func.func @f(%a: memref<?x{ty}>, {given}) -> ({types}) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x{ty}>
  %r:{len(kinds)} = affine.for %i = 0 to %n iter_args({carried}) -> ({types}) {{
    %v = affine.load %a[%i] : memref<?x{ty}>
{steps}
    affine.yield {", ".join(f"%u{i}" for i in range(len(kinds)))} : {types}
  }}
  return {", ".join(f"%r#{i}" for i in range(len(kinds)))} : {types}
}}"""


@cache
def compiled(
    form: Callable[[Sequence[str], str], str],
    kinds: tuple[str, ...],
    ty: str,
    target: str,
) -> Any:
    return gcg.compile(form(kinds, ty), target=target, specialize=False).f


def expected(kind: str, values: np.ndarray) -> Any:
    """All values one after the other; of none, the neutral element."""
    if not len(values):
        start = OF_ATOMICS[kind].neutral_in(8 * values.itemsize)
        return values.dtype.type(start)
    with np.errstate(all="ignore"):
        return reduce(REFERENCES[kind], values)


def same(actual: Any, wanted: Any, *, sign: bool) -> bool:
    if np.isnan(wanted):
        return bool(np.isnan(actual))
    return actual == wanted and (not sign or np.signbit(actual) == np.signbit(wanted))


@pytest.mark.drawn(14)
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sampled(18)
def test_floats(target: str, name: str):
    values = np.array(SPECIAL[name], "f4")
    results = compiled(parallel, tuple(FLOATS), "f32", target)(values)
    for kind, actual in zip(FLOATS, results, strict=True):
        wanted = expected(kind, values)
        is_sum = OF_ATOMICS[kind].is_ordered  # of +0 and -0 the extremes may be either
        assert same(actual, wanted, sign=is_sum), (kind, actual, wanted)


@pytest.mark.cases("name", SPECIAL, parts=2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sampled(9)
def test_floats_in_a_loop_that_starts_from_the_neutral_elements(target: str, name: str):
    values = np.array(SPECIAL[name], "f4")
    starts = [np.float32(OF_ATOMICS[kind].neutral_in(32)) for kind in FLOATS]
    function = compiled(loop, tuple(FLOATS), "f32", target)
    results = function(values, *starts)
    for kind, actual in zip(FLOATS, results, strict=True):
        wanted = expected(kind, values)
        is_sum = OF_ATOMICS[kind].is_ordered
        assert same(actual, wanted, sign=is_sum), (kind, actual, wanted)


@pytest.mark.drawn(10)
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.slow
def test_integers(target: str, name: str):
    values = np.array(WHOLE[name], "i4")
    results = compiled(parallel, tuple(INTEGERS), "i32", target)(values)
    for kind, actual in zip(INTEGERS, results, strict=True):
        assert np.int32(actual) == expected(kind, values), kind


VECTORS = "\n".join(
    f"""func.func @{row.operation}(%a: memref<6xf32>, %o: memref<1xf32>) {{
  %c0 = arith.constant 0 : index
  %v = vector.load %a[%c0] : memref<6xf32>, vector<6xf32>
  %r = vector.reduction <{row.kind}>, %v : vector<6xf32> into f32
  memref.store %r, %o[%c0] : memref<1xf32>
  return
}}"""
    for row in OF_ATOMICS.values()
    if row.is_float
)


@pytest.mark.cases("kind", FLOATS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sampled(3)
def test_vectors_start_from_the_neutral_element(target: str, kind: str):
    function = vectors(target)[OF_ATOMICS[kind].operation]
    for values in ([-0.0] * 6, [nan] * 6, [nan, 1, 2, 3, 4, 5], [-inf] * 6):
        given, out = np.array(values, "f4"), np.zeros(1, "f4")
        function(given, out)
        is_sum = OF_ATOMICS[kind].is_ordered
        assert same(out[0], expected(kind, given), sign=is_sum), (kind, values, out)


@cache
def vectors(target: str) -> gcg.Program:
    return gcg.compile(VECTORS, target=target)


@pytest.mark.cases("row", COMBINERS.values(), ids=COMBINERS)
def test_neutral_elements_change_nothing(row: Any):
    neutral = row.neutral_in(32)
    combine = REFERENCES.get(row.atomic, np.fmax if "max" in row.kind else np.fmin)
    values = SPECIAL["many"] + [-0.0, inf, -inf, nan]
    if not row.is_float:
        values, neutral = WHOLE["many"], np.int32(neutral)
    for value in np.array(values, "f4" if row.is_float else "i4"):
        found = combine(type(value)(neutral), value)
        assert same(found, value, sign=row.is_float), (value, found)
