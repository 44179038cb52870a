"""Floating-point instructions: roundings, fused multiply-adds, conversions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gpucodegen.ptx import floats
from tests.ptx.kernels import entry, launch


def evaluate(line: str, kind: str, *values: float) -> np.ndarray:
    """What an instruction leaves in O, of scalars A and B of a type."""
    registers = {"f4": "%f", "f8": "%g"}[kind]
    size = np.dtype(kind).itemsize
    names = {"A": f"{registers}1", "B": f"{registers}2", "O": f"{registers}3"}
    for letter, name in names.items():
        line = line.replace(f" {letter}", f" {name}")
    body = "ld.param.u64 %d1, [k_0];"
    for i in range(len(values)):
        body += f"ld.global.f{8 * size} {registers}{i + 1}, [%d1+{i * size}];"
    data = np.array([*values, 0.0], kind)
    body += f"{line}; st.global.f{8 * size} [%d1+{len(values) * size}], {registers}3;"
    launch(entry("u64", body + "ret;"), 1, 1, data)
    return data[-1]


@pytest.mark.cases(
    ("line", "values", "right"),
    [
        ("min.f32 O, A, B", (0.0, -0.0), -0.0),
        ("max.f32 O, A, B", (-0.0, 0.0), 0.0),
        ("min.f32 O, A, B", (np.nan, 2.0), 2.0),
        ("min.NaN.f32 O, A, B", (np.nan, 2.0), np.nan),
        ("add.sat.f32 O, A, B", (0.75, 0.5), 1.0),
        ("add.rz.f32 O, A, B", (1.0, 2.0**-24 * 1.5), 1.0),
        ("add.rp.f32 O, A, B", (1.0, 2.0**-30), 1.0 + 2.0**-23),
        ("fma.rm.f32 O, A, B, B", (-1.0, 2.0**-30), 0.0),
        ("rcp.approx.ftz.f32 O, A", (4.0,), 0.25),
        ("ex2.approx.f32 O, A", (-3.0,), 0.125),
        ("mul.ftz.f32 O, A, B", (2.0**-100, 2.0**-40), 0.0),
        ("abs.f32 O, A", (-1.5,), 1.5),
        ("copysign.f32 O, A, B", (-1.0, 3.0), -3.0),
        ("cvt.rni.f32.f32 O, A", (2.5,), 2.0),
        ("cvt.rzi.s32.f32 %r1, A; cvt.rn.f32.s32 O, %r1", (-2.75,), -2.0),
        (
            "cvt.rn.bf16.f32 %h1, A; mov.b32 O, {%h2, %h1}",
            (1.5,),
            1.5,
        ),
        ("cvt.rn.f16.f32 %h1, A; cvt.f32.f16 O, %h1", (0.1,), float(np.float16(0.1))),
        ("mov.f32 O, 0f3FC00000", (1.0,), 1.5),
        ("setp.ltu.f32 %p1, A, B; selp.f32 O, A, B, %p1", (2.0, np.nan), 2.0),
        (
            "setp.ne.f32 %p1, A, B; selp.f32 O, 0f3F800000, A, %p1",
            (np.nan, 2.0),
            np.nan,
        ),
    ],
)
def test_instruction(line: str, values: tuple[float, ...], right: float) -> None:
    if "%h2" in line:
        line = f"mov.u16 %h2, 0; {line}"
    found = evaluate(line, "f4", *values)
    np.testing.assert_array_equal(found, np.float32(right))
    assert np.signbit(found) == np.signbit(np.float32(right)) or np.isnan(right)


def test_fma_of_single_precision_is_rounded_once() -> None:
    rng = np.random.default_rng(0)
    a = (1 + 2.0**-12 * rng.integers(0, 4096, 400)).astype("f4")
    b = np.full(400, np.float32(1 + 2**-11))
    c = np.float32(2.0**-60) * rng.choice(np.array([-1, 1], "f4"), 400)
    for x, y, z, found in zip(a, b, c, floats.fma32(a, b, c), strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        off = abs(Fraction(float(found)) - exact)
        for other in (np.nextafter(found, np.float32(s)) for s in (-9, 9)):
            assert off <= abs(Fraction(float(other)) - exact)


def test_fma_of_double_precision_keeps_what_a_product_loses() -> None:
    found = evaluate("fma.rn.f64 O, A, B, A", "f8", 1 + 2.0**-30, -(1 - 2.0**-31))
    exact = Fraction(1 + 2.0**-30) * (1 - Fraction(1 - 2.0**-31))
    assert Fraction(float(found)) == exact
