"""Number formats against enumeration and fractions: narrow floats, packed words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpucodegen.ptx.floats import FORMATS, decoded, encoded, from_bf16, rounded_bf16
from tests.ptx.kernels import GLOBAL_ID, entry, launch

COUNT = 64
TOPS = {"e4m3": 448, "e5m2": 57344, "e2m3": 7.5, "e3m2": 28, "e2m1": 6}
"""The largest numbers, as the manual has them."""


def numbers(kind: str) -> list[Fraction]:
    """The positive finite numbers of a format, by its definition."""
    form = FORMATS[kind]
    found: list[Fraction] = []
    for code in range(1 << form.exponent + form.mantissa):
        power, part = divmod(code, 1 << form.mantissa)
        unit = Fraction(part, 1 << form.mantissa)
        scale = Fraction(2) ** (max(power, 1) - form.bias)
        found.append(((1 if power else 0) + unit) * scale)
    return [number for number in found if number <= Fraction(TOPS[kind])]


@pytest.mark.cases("kind", TOPS)
def test_each_code_is_its_number(kind: str) -> None:
    right = numbers(kind)
    found = decoded(np.arange(len(right)), kind)
    assert found.tolist() == [float(number) for number in right]
    assert max(found) == TOPS[kind]


@pytest.mark.cases("kind", TOPS)
def test_the_nearest_number_is_chosen_and_the_even_one_of_two(kind: str) -> None:
    known = np.array([float(number) for number in numbers(kind)])
    rng = np.random.default_rng(0)
    some = [float(v) for v in rng.uniform(0, TOPS[kind] * 1.2, 200)]
    some += [(a + b) / 2 for a, b in pairwise(known.tolist())]
    some += known.tolist()
    codes = encoded(np.array(some), kind).tolist()
    for value, code in zip(some, codes, strict=True):
        gaps = np.abs(value - known)
        nearest = np.flatnonzero(gaps == gaps.min())
        assert code in nearest
        assert len(nearest) == 1 or code % 2 == 0


def run(body: str, *arrays: np.ndarray, kind: str = "i4") -> np.ndarray:
    """What lanes leave in O, of A, B, C: words of the arrays; 64 bits are %d20 on."""
    size, letter = (
        np.dtype(kind).itemsize,
        "%d" if np.dtype(kind).itemsize > 4 else "%r",
    )
    out = np.zeros(COUNT, kind)
    text = GLOBAL_ID
    for i, array in enumerate((*arrays, out)):
        each = array.dtype.itemsize
        text += f"ld.param.u64 %d{i}, [k_{i}]; mul.wide.s32 %d9, %r4, {each};"
        text += f"add.s64 %d{i}, %d{i}, %d9;"
        if array is not out:
            name = "%d" if each > 4 else "%r"
            text += f"ld.global.b{8 * each} {name}{20 + i}, [%d{i}];"
            body = body.replace(f" {'ABC'[i]}", f" {name}{20 + i}")
    body = body.replace(" O", f" {letter}30")
    text += f"{body}; st.global.b{8 * size} [%d{len(arrays)}], {letter}30; ret;"
    parameters = " ".join(["u64"] * (len(arrays) + 1))
    launch(entry(parameters, text), 2, COUNT // 2, *arrays, out)
    return out


def floats(kind: str, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(COUNT) * 9
    values[:6] = 0.0, -0.0, 1e9, -1e9, 1.0, 2.0**-12
    return values.astype(kind)


def packed(low: np.ndarray, high: np.ndarray, bits: int = 8) -> np.ndarray:
    return (high.astype("u4") << bits | low.astype("u4")).astype("i4")


@pytest.mark.cases("kind", ["e4m3", "e5m2", "e2m3", "e3m2"])
@pytest.mark.cases("relu", ["", ".relu"])
def test_two_singles_become_a_pair(kind: str, relu: str) -> None:
    a, b = floats("f4"), floats("f4", 1)
    a[7] = np.nan
    line = (
        f"mov.b32 %f1, A; mov.b32 %f2, B; cvt.rn.satfinite{relu}.{kind}x2.f32"
        " %h1, %f1, %f2; cvt.u32.u16 O, %h1"
    )
    x, y = ((np.where(v <= 0, 0, v) if relu else v) for v in (a, b))
    right = packed(encoded(y, kind), encoded(x, kind))
    assert (run(line, a, b) == right).all()


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_pairs_go_to_halves_and_back(kind: str) -> None:
    codes = np.random.default_rng(0).integers(0, 0x7C, (2, COUNT))
    words = packed(codes[0], codes[1] | 0x80)
    halves = run(f"cvt.u16.u32 %h1, A; cvt.rn.f16x2.{kind}x2 O, %h1", words)
    right = np.stack([decoded(codes[0], kind), decoded(codes[1] | 0x80, kind)], -1)
    assert (halves.view("f2").reshape(-1, 2) == right).all()
    back = f"cvt.rn.satfinite.{kind}x2.f16x2 %h1, A; cvt.u32.u16 O, %h1"
    assert (run(back, halves) == words).all()


def test_four_bits_make_pairs_of_a_byte() -> None:
    a, b = floats("f4"), floats("f4", 1)
    line = (
        "mov.b32 %f1, A; mov.b32 %f2, B; { .reg .b8 b;"
        "cvt.rn.satfinite.e2m1x2.f32 b, %f1, %f2; mov.b16 %h1, {b, b}; }"
        "cvt.u32.u16 O, %h1"
    )
    byte = packed(encoded(b, "e2m1"), encoded(a, "e2m1"), 4)
    assert (run(line, a, b) == byte * 257).all()


@pytest.mark.parametrize(
    ("mode", "right"), [("rz", [0, 0, 1, 1, 2]), ("rp", [0, 1, 1, 2, 2])]
)
def test_powers_of_two_are_scales(mode: str, right: list[int]) -> None:
    x = np.full(COUNT, 1, "f4")
    x[:5] = 1, 1.5, 2, 3, 4
    x[5] = np.nan
    line = f"""mov.b32 %f1, A; cvt.{mode}.satfinite.ue8m0x2.f32 %h1, %f1, %f1;
    cvt.u32.u16 O, %h1"""
    found = run(line, x)
    assert (found[:5] == (np.array(right) + 127) * 257).all()
    assert found[5] == 0xFFFF


def fused(a: float, b: float, c: float) -> Fraction:
    x, y, z = (Fraction(float(v)) for v in (a, b, c))
    return x * y + z


def nearest(value: Fraction, kind: str) -> float:
    """A fraction rounded once to a type of 16 bits: to nearest, ties to even."""
    if value == 0:
        return 0.0
    digits, least = {"f2": (11, -24), "bf16": (8, -133)}[kind]
    power = 0
    while Fraction(2) ** (power + 1) <= abs(value):
        power += 1
    while Fraction(2) ** power > abs(value):
        power -= 1
    unit = Fraction(2) ** max(power - digits + 1, least)
    return float(round(value / unit) * unit)


def test_packed_halves_are_rounded_once() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((COUNT, 2)).astype("f2") for _ in range(3))
    c[:9] = np.float16(2.0**-24)
    words = [v.view("i4")[:, 0] for v in (a, b, c)]
    found = run("fma.rn.f16x2 O, A, B, C", *words).view("f2").reshape(-1, 2)
    for at in np.ndindex(COUNT, 2):
        assert found[at] == nearest(fused(a[at], b[at], c[at]), "f2")
    for line, form in {
        "add.f16x2 O, A, B": lambda x, y: x + y,
        "mul.rn.f16x2 O, A, B": lambda x, y: x * y,
        "min.f16x2 O, A, B": np.minimum,
        "max.NaN.f16x2 O, A, B": np.maximum,
    }.items():
        assert (run(line, *words[:2]).view("f2").reshape(-1, 2) == form(a, b)).all()
    assert (run("neg.f16x2 O, A", words[0]).view("f2") == -a.reshape(-1)).all()


def bf16_words(values: np.ndarray) -> np.ndarray:
    bits = rounded_bf16(values, "rn").view("u2").reshape(-1, 2)
    return np.ascontiguousarray(bits).view("i4")[:, 0]


def bf16_values(words: np.ndarray) -> np.ndarray:
    return from_bf16(words.view("i2")).astype("f8").reshape(-1, 2)


def test_packed_brain_floats_are_rounded_once() -> None:
    rng = np.random.default_rng(0)
    words = [bf16_words(rng.standard_normal((COUNT, 2))) for _ in range(3)]
    tiny = bf16_words(np.full((COUNT, 2), 2.0**-90))
    words[2][:20] = tiny[:20]
    a, b, c = map(bf16_values, words)
    found = bf16_values(run("fma.rn.bf16x2 O, A, B, C", *words))
    for at in np.ndindex(COUNT, 2):
        assert found[at] == nearest(fused(a[at], b[at], c[at]), "bf16")
    relu = bf16_values(run("fma.rn.relu.bf16x2 O, A, B, C", *words))
    assert (relu == np.maximum(found, 0)).all()


def test_two_singles_at_once() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((COUNT, 2)).astype("f4") for _ in range(3))
    words = [v.view("i8")[:, 0] for v in (a, b, c)]
    found = run("fma.rn.f32x2 O, A, B, C", *words, kind="i8").view("f4")
    right = (a.astype("f8") * b + c).astype("f4")
    np.testing.assert_allclose(found.reshape(-1, 2), right, rtol=1e-6)
    found = run("add.rn.f32x2 O, A, B", *words[:2], kind="i8").view("f4")
    assert (found.reshape(-1, 2) == a + b).all()


@pytest.mark.cases("kind", ["f16", "bf16"])
def test_sums_of_a_narrow_and_a_single_number(kind: str) -> None:
    """On sm_100, LLVM widens halves within these instructions."""
    a, b = (np.arange(COUNT, dtype="f4") * s for s in (0.25, -0.5))
    c = floats("f4")
    take = f"cvt.rn.{kind}.f32 %h1, %f1; cvt.rn.{kind}.f32 %h2, %f2"
    load = f"mov.b32 %f1, A; mov.b32 %f2, B; mov.b32 %f3, C; {take}"
    for line, right in (
        ("add.rn", a + c),
        ("sub.rn", a - c),
        ("fma.rn", (a.astype("f8") * b + c).astype("f4")),
    ):
        sources = "%h1, %h2" if "fma" in line else "%h1"
        body = f"{load}; {line}.f32.{kind} %f4, {sources}, %f3; mov.b32 O, %f4"
        assert (run(body, a, b, c, kind="f4") == right).all()


DIRECTED: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "div": lambda a, b, _: a / b,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.cases("mode", ["rz", "rm", "rp"])
@pytest.mark.cases("name", DIRECTED)
def test_doubles_are_rounded_in_a_direction(name: str, mode: str) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(COUNT) for _ in range(3))
    c[:20] *= 2.0**-80
    operands = {"fma": "%g1, %g2, %g3"}.get(name, "%g1, %g2")
    line = f"""mov.b64 %g1, A; mov.b64 %g2, B; mov.b64 %g3, C;
    {name}.{mode}.f64 %g4, {operands}; mov.b64 O, %g4"""
    found = run(line, a, b, c, kind="f8")
    for row in zip(a, b, c, found, strict=True):
        *values, result = map(Fraction, row)
        exact = DIRECTED[name](*values)
        down = mode == "rm" or (mode == "rz" and exact > 0)
        other = np.nextafter(float(result), np.inf if down else -np.inf)
        low, high = sorted((result, Fraction(float(other))))
        assert low <= exact <= high
        assert exact == result or (result < exact) == down


@pytest.mark.cases(
    ("line", "value", "right"),
    [
        ("cvt.rna.tf32.f32", 1 + 2.0**-11, 1 + 2.0**-10),
        ("cvt.rn.tf32.f32", 1 + 2.0**-11, 1),
        ("cvt.rz.relu.tf32.f32", -1.5, 0),
        ("cvt.rn.satfinite.tf32.f32", np.inf, 3.401162134214653e38),
    ],
)
def test_tensor_floats(line: str, value: float, right: float) -> None:
    words = run(f"mov.b32 %f1, A; {line} O, %f1", np.full(COUNT, value, "f4"))
    assert (words.view("f4") == np.float32(right)).all()


@pytest.mark.cases(
    ("line", "value", "right"),
    [
        ("cvt.rz.bf16.f32 %h1, %f1; cvt.f32.bf16 %f2, %h1", 1 + 2.0**-8 * 1.9, 1),
        (
            "cvt.rn.satfinite.bf16.f32 %h1, %f1; cvt.f32.bf16 %f2, %h1",
            np.inf,
            3.3895313892515355e38,
        ),
        ("cvt.rn.relu.f16.f32 %h1, %f1; cvt.f32.f16 %f2, %h1", -3, 0),
        ("cvt.rn.satfinite.f16.f32 %h1, %f1; cvt.f32.f16 %f2, %h1", -1e6, -65504),
        (
            "cvt.rni.s32.f32 %r9, %f1; cvt.rn.bf16.s32 %h1, %r9; cvt.f32.bf16 %f2, %h1",
            1001,
            1000,
        ),
        ("cvt.rzi.s64.f32 %d9, %f1; cvt.rp.f32.s64 %f2, %d9", 7, 7),
        ("min.xorsign.abs.f32 %f2, %f1, 0f40A00000", -9, -5),
        ("max.f32 %f2, %f1, 0f40A00000, 0fC0E00000", -9, 5),
        (
            "testp.notanumber.f32 %p1, %f1; selp.f32 %f2, 0f3F800000, 0f00000000, %p1",
            np.nan,
            1,
        ),
        (
            "testp.subnormal.f32 %p1, %f1; selp.f32 %f2, 0f3F800000, 0f00000000, %p1",
            1e-40,
            1,
        ),
        (
            "testp.normal.f32 %p1, %f1; selp.f32 %f2, 0f3F800000, 0f00000000, %p1",
            1e-40,
            0,
        ),
        ("set.gt.f32.f32 %f2, %f1, 0f40A00000", 6, 1),
    ],
)
def test_single_conversions(line: str, value: float, right: float) -> None:
    found = run(f"mov.b32 %f1, A; {line}; mov.b32 O, %f2", np.full(COUNT, value, "f4"))
    assert (found.view("f4") == np.float32(right)).all()


def test_comparisons_of_packed_halves_leave_two_predicates() -> None:
    a, b = (
        np.random.default_rng(s).standard_normal((COUNT, 2)).astype("f2")
        for s in (0, 1)
    )
    line = """setp.lt.f16x2 %p1|%p2, A, B; selp.b32 %r9, 1, 0, %p1;
    selp.b32 O, 2, 0, %p2; add.s32 O, O, %r9"""
    found = run(line, a.view("i4")[:, 0], b.view("i4")[:, 0])
    assert (found == (a < b) @ [1, 2]).all()
