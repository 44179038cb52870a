"""Atomic updates in parallel loops: no race among themselves, and none gets lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

TARGETS = ("cpu", "sim")

HISTOGRAM = """func.func @f(%a: memref<1000xi32>, %h: memref<16xi32>) {{
  affine.parallel (%i) = (0) to (1000) {{
    %one = arith.constant 1 : i32
    %b = affine.load %a[%i] : memref<1000xi32>
    %k = arith.index_cast %b : i32 to index
    %old = memref.atomic_rmw addi %one, %h[%k] : (i32, memref<16xi32>) -> i32
    {after}
  }}
  return
}}"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_histogram(target: str):
    data = np.random.default_rng(0).integers(0, 16, 1000).astype("i4")
    counts = np.zeros(16, "i4")
    gcg.compile(HISTOGRAM.format(after=""), target=target).f(data, counts)
    assert counts.tolist() == np.bincount(data, minlength=16).tolist()


OTHERS = {
    "store": "affine.store %one, %h[3] : memref<16xi32>",
    "load": "%v = affine.load %h[3] : memref<16xi32>\n"
    "affine.store %v, %a[%i] : memref<1000xi32>",
    "other kind": "%o = memref.atomic_rmw maxs %one, %h[%k]"
    " : (i32, memref<16xi32>) -> i32",
}


@pytest.mark.slow
@pytest.mark.cases("other", OTHERS)
@pytest.mark.parametrize("target", TARGETS)
def test_anything_else_at_the_same_place_is_a_race(target: str, other: str):
    program = gcg.compile(HISTOGRAM.format(after=OTHERS[other]), target=target)
    with pytest.raises(errors.RaceFound, match="race on h") as caught:
        program.f(np.zeros(1000, "i4"), np.zeros(16, "i4"))
    assert caught.value.notes, "both statements are named"


def cells(kinds: Sequence[str], ty: str) -> str:
    updates = "\n".join(
        f"""    %c{i} = arith.constant {i} : index
    %o{i} = memref.atomic_rmw {kind} %v, %h[%c{i}] : ({ty}, memref<?x{ty}>) -> {ty}"""
        for i, kind in enumerate(kinds)
    )
    return f"""func.func @f(%a: memref<70x{ty}>, %h: memref<?x{ty}>) {{
  affine.parallel (%i) = (0) to (70) {{
    %v = affine.load %a[%i] : memref<70x{ty}>
{updates}
  }}
  return
}}"""


WHOLE = ("addi", "muli", "maxs", "mins", "maxu", "minu", "andi", "ori", "xori")
REAL = ("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf")


def whole_references(data: np.ndarray) -> list[Any]:
    plain = data.view(data.dtype.str.replace("i", "u"))
    return [
        *(data.sum(dtype=data.dtype), data.prod(dtype=data.dtype)),
        *(data.max(), data.min()),
        *(plain.max().astype(data.dtype), plain.min().astype(data.dtype)),
        np.bitwise_and.reduce(data),
        np.bitwise_or.reduce(data),
        np.bitwise_xor.reduce(data),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("ty", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("target", TARGETS)
def test_integers_of_every_width(target: str, ty: str):
    """What lies beside the cells stays as it is."""
    bits = int(ty[1:])
    ends = -(2 ** (bits - 1)), 2 ** (bits - 1)
    data = np.random.default_rng(1).integers(*ends, 70, dtype=f"i{bits // 8}") | 1
    around = np.full(len(WHOLE) + 2, 77, data.dtype)
    found = around[1:-1]
    found[:] = [0, 1, ends[0], ends[1] - 1, 0, -1, -1, 0, 0]
    gcg.compile(cells(WHOLE, ty), target=target).f(data, found)
    assert found.tolist() == [int(x) for x in whole_references(data)]
    assert around[[0, -1]].tolist() == [77, 77]


@pytest.mark.slow
@pytest.mark.parametrize("ty", ["f16", "f32", "f64"])
@pytest.mark.parametrize("target", TARGETS)
def test_floats_of_every_width(target: str, ty: str):
    """Sums and products that are exact in every order."""
    data = (
        np.random.default_rng(2)
        .choice([-1, 1, 2, 0.5], 70)
        .astype(f"f{int(ty[1:]) // 8}")
    )
    data[:4] = [-2, 3, 0.25, 1]
    data[4:] = np.where(np.abs(data[4:]) == 1, data[4:], 1).astype(data.dtype)
    around = np.full(len(REAL) + 2, 7, data.dtype)
    found = around[1:-1]
    found[:] = [0, 1, -np.inf, np.inf, np.nan, np.nan]
    gcg.compile(cells(REAL, ty), target=target).f(data, found)
    ends = [data.max(), data.min()]
    assert found.tolist() == [data.sum(), data.prod(), *ends, *ends]
    assert around[[0, -1]].tolist() == [7, 7]


@pytest.mark.parametrize("target", TARGETS)
def test_the_old_value_is_the_result(target: str):
    """Every number is given out once: a counter that threads draw from."""
    text = """func.func @f(%n: memref<i32>, %out: memref<100xi32>) {
  affine.parallel (%i) = (0) to (100) {
    %one = arith.constant 1 : i32
    %mine = memref.atomic_rmw addi %one, %n[] : (i32, memref<i32>) -> i32
    affine.store %mine, %out[%i] : memref<100xi32>
  }
  return
}"""
    count, drawn = np.zeros((), "i4"), np.zeros(100, "i4")
    gcg.compile(text, target=target).f(count, drawn)
    assert count == 100
    assert sorted(drawn) == list(range(100))


@pytest.mark.parametrize("ty", ["f16", "f32", "i8", "i64"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sampled(3)
def test_an_assigned_value_is_one_that_somebody_assigned(target: str, ty: str):
    dtype = f"{ty[0]}{int(ty[1:]) // 8}"
    data = np.arange(70).astype(dtype)
    found = np.full(1, -1, dtype)
    gcg.compile(cells(["assign"], ty), target=target).f(data, found)
    assert found[0] in data


@pytest.mark.parametrize("target", TARGETS)
def test_in_a_sequential_loop_atomics_keep_their_order(target: str):
    """Large, then small: in another order the small ones would count."""
    text = """func.func @f(%a: memref<64xf32>, %s: memref<f32>) {
  affine.for %i = 0 to 64 {
    %v = affine.load %a[%i] : memref<64xf32>
    %o = memref.atomic_rmw addf %v, %s[] : (f32, memref<f32>) -> f32
  }
  return
}"""
    data, total = np.ones(64, "f4"), np.zeros((), "f4")
    data[0] = 2.0**24
    gcg.compile(text, target=target).f(data, total)
    assert total == 2.0**24


INSTRUCTIONS = {
    "i32": ("addi maxs mins maxu minu andi ori xori assign", "i4"),
    "i64": ("addi maxs mins maxu minu andi ori xori assign", "i8"),
    "f32": ("addf assign", "f4"),
    "f64": ("addf assign", "f8"),
}
"""What the hardware does at once."""


@pytest.mark.parametrize("ty", [*INSTRUCTIONS, "i16", "f16"])
@pytest.mark.sampled(3)
def test_ptx_has_atomics_of_the_hardware_and_swaps_for_the_rest(ty: str):
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    words, dtype = INSTRUCTIONS.get(ty, ("assign", ty[0] + str(int(ty[1:]) // 8)))
    kinds = words.split()
    call = gcg.compile(cells(kinds, ty), target="sim")["f"]
    call(np.zeros(70, dtype), np.zeros(len(kinds), dtype))
    (spec,) = call.executable().kernels
    lines = compile_ptx(spec, (9, 0)).splitlines()
    updates = [line for line in lines if "atom." in line or "red." in line]
    swaps = [line for line in updates if ".cas." in line]
    assert len(updates) == len(kinds)
    assert bool(swaps) == (ty not in INSTRUCTIONS)
    assert any("ld.relaxed" in line for line in lines) == bool(swaps)
