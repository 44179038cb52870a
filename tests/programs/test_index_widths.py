"""Indices in kernels of a GPU: 64 bits as data, 32 where that is proven the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

VALUES = np.array([100000, -70000, 3, 46341, -46341, 2**31 - 1, -(2**31), 7], "i4")
SQUARE = """
%x = arith.index_cast %v : i32 to index
%y = arith.muli %x, %x : index
"""
AS_I32 = "%r = arith.index_cast %z : index to i32"
WIDE: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "comparison": (
        f"""{SQUARE}
        %c = arith.constant 2000000000 : index
        %t = arith.cmpi sgt, %y, %c : index
        %r = arith.extui %t : i1 to i32""",
        lambda _, v: int(v * v > 2000000000),
    ),
    "quotient": (
        f"""{SQUARE}
        %c = arith.constant 100000 : index
        %z = arith.divsi %y, %c : index
        {AS_I32}""",
        lambda _, v: v * v // 100000,
    ),
    "shift": (
        f"""{SQUARE}
        %c = arith.constant 8 : index
        %z = arith.shrsi %y, %c : index
        {AS_I32}""",
        lambda _, v: v * v >> 8,
    ),
    "switch": (
        f"""{SQUARE}
        %r = scf.index_switch %y -> i32
        case 49 {{ %c = arith.constant 1 : i32
          scf.yield %c : i32 }}
        case 1410065408 {{ %c = arith.constant 2 : i32
          scf.yield %c : i32 }}
        default {{ %c = arith.constant 3 : i32
          scf.yield %c : i32 }}""",
        lambda _, v: 1 if v == 7 else 3,
    ),
    "unsigned": (
        f"""%x = arith.index_castui %v : i32 to index
        %c = arith.constant 3 : index
        %z = arith.divsi %x, %c : index
        {AS_I32}""",
        lambda _, v: (v % 2**32) // 3,
    ),
    "affine map": (
        f"""%x = arith.index_cast %v : i32 to index
        %z = affine.apply affine_map<(i)[s]->((i + s * 70000) floordiv 1000)>(%i)[%x]
        {AS_I32}""",
        lambda i, v: (i + v * 70000) // 1000,
    ),
    "loop variable": (
        f"""%k = arith.constant 2654435761 : index
        %p = arith.constant 1000003 : index
        %x = arith.muli %i, %k : index
        %z = arith.remui %x, %p : index
        {AS_I32}""",
        lambda i, _: i * 2654435761 % 1000003,
    ),
    "parameter": (
        f"""%k = arith.constant 1000000 : index
        %z = arith.divsi %n, %k : index
        {AS_I32}""",
        lambda *_: 10**6,
    ),
    "carried": (
        f"""%one = arith.constant 1 : index
        %lo = arith.constant 0 : index
        %hi = arith.constant 40 : index
        %three = arith.constant 3 : index
        %q = scf.for %j = %lo to %hi step %one iter_args(%b = %one) -> (index) {{
          %t = arith.muli %b, %three : index
          scf.yield %t : index
        }}
        %p = arith.constant 1000003 : index
        %z = arith.remui %q, %p : index
        {AS_I32}""",
        lambda *_: 3**40 % 1000003,
    ),
    "large bounds": (
        """%zero = arith.constant 0 : i32
        %r = affine.for %j = 5000000000 to 5000000003 iter_args(%b = %zero) -> (i32) {
          %t = arith.addi %b, %v : i32
          affine.yield %t : i32
        }""",
        lambda _, v: 3 * v,
    ),
}
NARROW: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "digits of a position": (
        """%c = arith.constant 3 : index
        %x = arith.remui %i, %c : index
        %z = arith.divui %i, %c : index
        %r0 = arith.index_cast %x : index to i32
        %r1 = arith.index_cast %z : index to i32
        %r = arith.addi %r0, %r1 : i32""",
        lambda i, _: i % 3 + i // 3,
    ),
    "product cut off": (
        f"{SQUARE}\n%r = arith.index_cast %y : index to i32",
        lambda _, v: v * v,
    ),
    "narrow data": (
        f"""%t = arith.trunci %v : i32 to i8
        %x = arith.index_cast %t : i8 to index
        %y = arith.muli %x, %x : index
        %c = arith.constant 7 : index
        %z = arith.remsi %y, %c : index
        {AS_I32}""",
        lambda _, v: ((v + 128) % 256 - 128) ** 2 % 7,
    ),
}


def program(body: str, target: str) -> gcg.Program:
    size = len(VALUES)
    return gcg.compile(
        f"""func.func @f(%n: index, %a: memref<{size}xi32>, %o: memref<{size}xi32>) {{
          affine.for %i = 0 to {size} {{
            %v = affine.load %a[%i] : memref<{size}xi32>
            {body}
            affine.store %r, %o[%i] : memref<{size}xi32>
          }}
          return
        }}""",
        target=target,
    )


@pytest.mark.parametrize("target", ALL)
@pytest.mark.cases("name", [*WIDE, *NARROW], parts=2)
@pytest.mark.sampled(12)
def test_results(name: str, target: str):
    body, want = (WIDE | NARROW)[name]
    o = np.zeros(len(VALUES), np.int32)
    program(body, target).f(10**12 if name == "parameter" else 1, VALUES, o)
    wanted = [want(i, v) for i, v in enumerate(VALUES.tolist())]
    assert o.tolist() == np.array(wanted).astype(np.int32).tolist()


@pytest.mark.parametrize("name", NARROW)
def test_proven_ranges_keep_32_bits(name: str):
    compiled = program(NARROW[name][0], "sim")
    compiled.f(1, VALUES, np.zeros(len(VALUES), np.int32))
    assert "int64" not in compiled.source("f").partition("def f_k0")[2]


CARRIED = """func.func @f(%a: memref<64xf32>, %o: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c16, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %below = arith.constant -2 : index
    %first = arith.constant 32 : index
    %i = affine.apply affine_map<(d0, d1) -> (d0 * 16 + d1)>(%bx, %tx)
    %r:2 = scf.for %q = %c0 to %bx step %c1 iter_args(%w = %first, %k = %below)
        -> (index, index) {
      %more = arith.cmpi ugt, %w, %c4 : index
      %half = arith.shrui %w, %c1 : index
      %z = arith.select %more, %half, %w : index
      %less = arith.cmpi slt, %k, %c1 : index
      %up = arith.addi %k, %c1 : index
      %k2 = arith.select %less, %up, %k : index
      scf.yield %z, %k2 : index, index
    }
    %at = arith.addi %r#0, %r#1 : index
    %v = memref.load %a[%at] : memref<64xf32>
    memref.store %v, %o[%i] : memref<64xf32>
    gpu.terminator
  }
  return
}"""


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ALL)
def test_loops_carry_constants_as_indices_of_the_kernel(target: str):
    """Comparisons of a carried constant take two operands of the same width."""
    a, o = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    gcg.compile(CARRIED, target=target).f(a, o)
    assert o.reshape(4, 16).T.tolist() == [[30, 15, 8, 5]] * 16
