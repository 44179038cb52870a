"""Every scalar operation in the interpreter, against Python's integers and IEEE."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ir.number_formats import FORMATS, of_bits, to_bits

OPEN = object()


def run(body: str, types: str, results: str) -> Callable[..., Any]:
    """A function of ``%x, %y`` whose body defines ``%r``."""
    names = ", ".join(
        f"%{n}: {ty}" for n, ty in zip("xyz", types.split(" "), strict=False)
    )
    text = f"func.func @f({names}) -> {results} {{ {body}\n return %r : {results} }}"
    return gcg.compile(text, target="interp").f


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


def as_signed(value: int, bits: int) -> int:
    """Of one bit, 1 is minus one."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def towards_zero(x: int, y: int) -> int:
    return math.trunc(x / y)


ON_SIGNED = {
    "divsi": towards_zero,
    "remsi": lambda x, y: x - towards_zero(x, y) * y,
    "floordivsi": lambda x, y: math.floor(x / y),
    "ceildivsi": lambda x, y: math.ceil(x / y),
    "maxsi": max,
    "minsi": min,
}
ON_UNSIGNED = {
    "divui": lambda x, y: x // y,
    "remui": lambda x, y: x % y,
    "ceildivui": lambda x, y: math.ceil(x / y),
    "maxui": max,
    "minui": min,
    "shrui": lambda x, y: x >> y,
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "andi": lambda x, y: x & y,
    "ori": lambda x, y: x | y,
    "xori": lambda x, y: x ^ y,
    "shli": lambda x, y: x << y,
}


@pytest.mark.sampled(4)
@pytest.mark.cases("bits", [1, 2, 3, 5], parts=6)
@pytest.mark.cases("name", [*ON_SIGNED, *ON_UNSIGNED, "shrsi"])
def test_all_integers_of_a_width(name: str, bits: int):
    ty = f"i{bits}"
    call = run(f"%r = arith.{name} %x, %y : {ty}", f"{ty} {ty}", ty)
    whole = range(1 << bits)
    for x in whole:
        for y in whole:
            if y == 0 and ("div" in name or "rem" in name):
                with pytest.raises(errors.DivisionByZero, match=f"arith.{name}"):
                    call(x, y)
                continue
            a, b = as_signed(x, bits), as_signed(y, bits)
            if name == "shrsi":
                want = a >> min(y, bits)
            else:
                one = ON_SIGNED.get(name)
                want = one(a, b) if one else ON_UNSIGNED[name](x, y)
            assert call(x, y) == signed(want, bits), (x, y)


@pytest.mark.cases("bits", [1, 3])
@pytest.mark.cases("word", "eq ne slt sle sgt sge ult ule ugt uge".split())
def test_comparisons_of_integers(word: str, bits: int):
    ty = f"i{bits}"
    call = run(f"%r = arith.cmpi {word}, %x, %y : {ty}", f"{ty} {ty}", "i1")
    relation = getattr(np, {"e": "equal", "n": "not_equal"}.get(word[0], "equal"))
    names = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    relation = getattr(np, names[word[1:]]) if len(word) == 3 else relation
    for x in range(1 << bits):
        for y in range(1 << bits):
            of_signs = word[0] == "s"
            a, b = (as_signed(n, bits) if of_signs else n for n in (x, y))
            assert call(x, y) == bool(relation(a, b)), (x, y)


def test_an_index_has_64_bits():
    body = "%r = arith.muli %x, %y : index"
    call = run(body, "index index", "index")
    assert call(1 << 62, 2) == -(1 << 63)
    assert call(1 << 62, 4) == 0


@pytest.mark.cases(
    ("cast", "source", "target", "value", "want"),
    [
        ("extsi", "i1", "i8", 1, -1),
        ("extui", "i1", "i8", 1, 1),
        ("extsi", "i4", "i64", 9, -7),
        ("trunci", "i64", "i5", 0x1F0, -16),
        ("index_cast", "i1", "index", 1, -1),
        ("index_castui", "i8", "index", -1, 255),
        ("sitofp", "i1", "f32", 1, -1.0),
        ("uitofp", "i8", "f16", -1, 255.0),
        ("fptosi", "f32", "i8", -3.9, -3),
        ("fptosi", "f32", "i8", 1e9, 127),
        ("fptoui", "f64", "i8", 200.5, -56),
        ("truncf", "f64", "bf16", 1 / 3, 0.333984375),
        ("truncf", "f32", "f8E4M3FN", 1e9, math.nan),
        ("extf", "f8E5M2", "f64", 1.25, 1.25),
        ("bitcast", "f32", "i32", 1.0, 0x3F800000),
        ("sitofp", "i64", "f32", (1 << 53) + (1 << 29) + 1, float(2**53 + 2**30)),
    ],
)
def test_casts(cast: str, source: str, target: str, value: float, want: float):
    body = f"%r = arith.{cast} %x : {source} to {target}"
    np.testing.assert_equal(run(body, source, target)(value), want)


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "bf16"])
def test_narrow_sums_are_rounded_once(name: str):
    call = run(f"%r = arith.addf %x, %y : {name}", f"{name} {name}", name)
    codes = range(0, 1 << FORMATS[name].width, 37 if name != "bf16" else 7919)
    for a in codes:
        for b in codes:
            x, y = of_bits(a, name), of_bits(b, name)
            if math.isfinite(x) and math.isfinite(y):
                want = of_bits(to_bits(x + y, name), name)
                np.testing.assert_equal(call(x, y), want)


def test_zeros_and_nan():
    larger = run("%r = arith.maximumf %x, %y : f32", "f32 f32", "f32")
    assert math.copysign(1, larger(-0.0, 0.0)) == 1
    assert math.isnan(larger(math.nan, 1.0))
    number = run("%r = arith.maxnumf %x, %y : f32", "f32 f32", "f32")
    assert number(math.nan, 1.0) == 1.0
    for word, want in (("true", True), ("false", False), ("uno", True), ("ord", False)):
        call = run(f"%r = arith.cmpf {word}, %x, %y : f64", "f64 f64", "i1")
        assert call(math.nan, 0.0) is want


def test_fma_rounds_once():
    body = "%r = math.fma %x, %y, %z : f64"
    tiny = 2.0**-52
    assert run(body, "f64 f64 f64", "f64")(1 + tiny, 1 - tiny, -1.0) == -(tiny**2)


MATH = {
    "exp": np.exp,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": math.erf,
    "cbrt": np.cbrt,
    "roundeven": np.rint,
    "round": lambda x: math.floor(x + 0.5),
}


@pytest.mark.cases("name", MATH)
def test_functions(name: str):
    call = run(f"%r = math.{name} %x : f32", "f32", "f32")
    for x in (0.25, 0.5, 1.5, 2.5, 7.0):
        assert call(x) == np.float32(MATH[name](x))


def test_counted_bits():
    for name, want in (("ctlz", 3), ("cttz", 2), ("ctpop", 3)):
        call = run(f"%r = math.{name} %x : i8", "i8", "i8")
        assert call(0b00011100) == want
    power = run("%r = math.ipowi %x, %y : i8", "i8 i8", "i8")
    assert (power(3, 5), power(-1, -3), power(2, -1)) == (-13, -1, 0)


def test_results_of_twice_the_width():
    text = """
    func.func @f(%a: i8, %b: i8) -> (i8, i1, i8, i8, i8, i8) {
      %s, %c = arith.addui_extended %a, %b : i8, i1
      %l, %h = arith.mulsi_extended %a, %b : i8
      %m, %n = arith.mului_extended %a, %b : i8
      return %s, %c, %l, %h, %m, %n : i8, i1, i8, i8, i8, i8
    }"""
    call = gcg.compile(text, target="interp").f
    for a in range(-128, 128, 15):
        for b in range(-128, 128, 13):
            total = (a & 255) + (b & 255)
            low, high, below, above = call(a, b)[2:]
            assert call(a, b)[:2] == (signed(total, 8), bool(total >> 8))
            assert high * 256 + (low & 255) == a * b
            assert (above & 255) * 256 + (below & 255) == (a & 255) * (b & 255)


def test_complex_numbers():
    body = """
    %p = complex.mul %x, %y : complex<f32>
    %q = complex.exp %p : complex<f32>
    %r = complex.div %q, %y : complex<f32>"""
    call = run(body, "complex<f32> complex<f32>", "complex<f32>")
    a, b = 0.5 + 0.25j, -1.5 + 1j
    assert abs(call(a, b) - np.exp(a * b) / b) < 1e-6
