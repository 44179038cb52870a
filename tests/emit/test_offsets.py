"""Sums that offsets have in common are computed once in the text of a kernel."""

from __future__ import annotations

import re

import numpy as np

import gpucodegen as gcg
from gpucodegen.emit.expressions import Text
from gpucodegen.emit.source import SourceWriter
from gpucodegen.emit.variables import Offsets
from gpucodegen.ir.affine import AffineExpr, Dim

BASE = Dim(0) * 80 + Dim(1) * 9 - Dim(2)


def shown(expr: AffineExpr) -> Text:
    return Text(str(expr))


def test_a_sum_is_named_where_it_first_occurs() -> None:
    writer = SourceWriter()
    offsets = Offsets(writer)

    def access(expr: AffineExpr) -> None:
        writer.line(f"a[{offsets.text(expr, shown) or shown(expr)}]")

    with writer.block("if x:"), offsets.scope():
        access(BASE + 3)
        access(Dim(0) * 80)
        with writer.block("if y:"), offsets.scope():
            access(BASE * 2)
            access(BASE - 1)
            access(BASE * 2 + 1)
        access(BASE)
    access(BASE)
    whole, double = shown(BASE), shown(BASE * 2)
    assert writer.text.splitlines() == [
        "if x:",
        f"    _at = {whole}",
        "    a[_at + 3]",
        "    a[d0 * 80]",
        "    if y:",
        f"        _at1 = {double}",
        "        a[_at1]",
        "        a[_at - 1]",
        "        a[_at1 + 1]",
        "    a[_at]",
        f"a[{whole}]",
    ]


def test_the_kernels_of_stencils_are_short() -> None:
    text = """func.func @f(%a: memref<7x20x30xf64>, %b: memref<7x20x30xf64>) {
      affine.for %i = 1 to 7 {
        affine.for %j = 1 to 19 {
          affine.for %k = 1 to 29 {
            %c = affine.load %a[%i, %j, %k] : memref<7x20x30xf64>
            %e = affine.load %a[%i, %j, %k + 1] : memref<7x20x30xf64>
            %s = affine.load %a[%i, %j + 1, %k] : memref<7x20x30xf64>
            %u = affine.load %a[%i - 1, %j, %k] : memref<7x20x30xf64>
            %t0 = arith.addf %c, %e : f64
            %t1 = arith.addf %s, %u : f64
            %t2 = arith.mulf %t0, %t1 : f64
            affine.store %t2, %b[%i, %j, %k] : memref<7x20x30xf64>
          }
        }
      }
      return
    }"""
    program = gcg.compile(text, target="cpu", threads=1)
    a = np.random.default_rng(0).random((7, 20, 30))
    b = np.zeros_like(a)
    program.f(a, b)
    inner = (slice(1, 7), slice(1, 19), slice(1, 29))
    east, south, above = a[1:, 1:19, 2:], a[1:, 2:, 1:29], a[:6, 1:19, 1:29]
    np.testing.assert_array_equal(b[inner], (a[inner] + east) * (south + above))
    source = program.source("f")
    named = re.findall(r"_at\d* = .*\* 600", source)
    assert len(named) == source.count("* 600") > 0


def test_kernels_of_cuda_write_offsets_out() -> None:
    text = """func.func @f(%a: memref<8x9x10xf32>) {
      affine.for %i = 0 to 8 {
        affine.for %j = 0 to 9 {
          affine.for %k = 0 to 9 {
            %v = affine.load %a[%i, %j, %k] : memref<8x9x10xf32>
            affine.store %v, %a[%i, %j, %k + 1] : memref<8x9x10xf32>
          }
        }
      }
      return
    }"""
    program = gcg.compile(text, target="cuda")
    assert "_at" not in program.source("f")
