"""Every conversion between number types, through numbers that all of them hold."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from running import loaded, one_kernel, ptx

from tests.targets import ALL

FLOATS = ("f16", "bf16", "f32", "f64")


def there_and_back(*steps: str) -> str:
    """``%x`` through ``op type`` steps; the last one defines ``%r``."""
    lines, value, ty = [], "%x", "i32"
    for number, step in enumerate(steps, 1):
        op, target = step.split()
        result = "%r" if number == len(steps) else f"%t{number}"
        lines.append(f"{result} = arith.{op} {value} : {ty} to {target}")
        value, ty = result, target
    return "\n".join(lines)


def integer_conversions() -> list[str]:
    narrow = [
        there_and_back(f"trunci i{width}", f"{back} i32")
        for width in (8, 16)
        for back in ("extsi", "extui")
    ]
    wide = [there_and_back(f"{out} i64", "trunci i32") for out in ("extsi", "extui")]
    index = [
        there_and_back(f"{out} index", f"{out} i32")
        for out in ("index_cast", "index_castui")
    ]
    return narrow + wide + index


def float_conversions() -> list[str]:
    ways = (("sitofp", "fptosi"), ("uitofp", "fptoui"))
    direct = [
        there_and_back(f"{out} {ty}", f"{back} i32")
        for ty in FLOATS
        for out, back in ways
    ]
    through_bytes = [
        there_and_back("trunci i8", f"{out} {ty}", f"{back} i16", "extsi i32")
        for ty in FLOATS
        for out, back in ways
    ]
    rounded = [
        there_and_back("sitofp f64", f"truncf {ty}", "extf f64", "fptosi i32")
        for ty in FLOATS
        if ty != "f64"
    ]
    bits = [
        there_and_back("bitcast f32", "bitcast i32"),
        there_and_back("extui i64", "bitcast f64", "bitcast i64", "trunci i32"),
    ]
    return direct + through_bytes + rounded + bits


ONE_BIT = """
%true = arith.constant true
%t = arith.trunci %x : i32 to i1
%n = arith.xori %t, %true : i1
%m = arith.xori %n, %true : i1
%u = arith.extui %m : i1 to i32
%s = arith.extsi %m : i1 to i32
%f = arith.uitofp %m : i1 to f32
%g = arith.fptosi %f : f32 to i32
%p = arith.addi %s, %g : i32
%z = arith.constant 0 : i32
%k = arith.cmpi sgt, %n, %m : i1
%h = arith.select %k, %z, %u : i32
%q = arith.subi %x, %h : i32
%v = arith.addi %q, %p : i32
%r = arith.addi %v, %h : i32"""
"""The last bit by several ways that cancel out."""


def conversions() -> list[str]:
    """Lines that take ``%x: i32`` through other types and back to ``%r: i32``."""
    return [*integer_conversions(), *float_conversions(), ONE_BIT]


def body() -> str:
    lines = ["affine.for %i = 0 to 101 {", "%x = affine.load %a[%i] : memref<101xi32>"]
    for number, text in enumerate(conversions()):
        lines += [
            re.sub(r"%(?!x\b)(\w+)", rf"%\1_{number}", text),
            f"affine.store %r_{number}, %b[{number}, %i] : memref<?x101xi32>",
        ]
    return "\n".join([*lines, "}"])


ARGUMENTS = "%a: memref<101xi32>, %b: memref<?x101xi32>"


@cache
def program(target: str) -> str:
    return one_kernel(ARGUMENTS, body(), target)


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_small_numbers_survive_every_conversion(target: str):
    a = np.arange(101, dtype=np.int32)
    b = np.zeros((len(conversions()), 101), np.int32)
    loaded(program(target), target, "f")(a, b)
    for text, row in zip(conversions(), b, strict=True):
        np.testing.assert_array_equal(row, a, err_msg=text)


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_negative_numbers_survive_the_signed_ones(target: str):
    a = -np.arange(101, dtype=np.int32)
    b = np.zeros((len(conversions()), 101), np.int32)
    loaded(program(target), target, "f")(a, b)
    unsigned = ("extui", "uitofp", "castui")
    for text, row in zip(conversions(), b, strict=True):
        if text is ONE_BIT or not any(word in text for word in unsigned):
            np.testing.assert_array_equal(row, a, err_msg=text)


def test_cuda_text_compiles():
    (text,) = ptx(program("sim"))
    assert ".entry k(" in text
