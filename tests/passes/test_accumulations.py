"""Which loops accumulate: through memory, through carried values, in which forms."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen.passes.analysis.lifting import lift_function
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import loop_verdicts


def kinds(body: str) -> str:
    text = f"""func.func @f(%A: memref<8x8xf32>, %I: memref<8x8xi32>, %s: memref<f32>,
                            %t: memref<i32>, %B: memref<8xf32>, %zero: f32) {{
      {body}
      return
    }}"""
    function = gcg.parse(text).functions["f"]
    verdicts = loop_verdicts(model(lift_function(function).scop))
    return " ".join(f"{v.loop.name}:{v.kind.value[0]}" for v in verdicts)


def carried(body: str, init: str = "%zero") -> str:
    return f"""%r = affine.for %j = 0 to 8 iter_args(%c = {init}) -> (f32) {{
      %x = affine.load %B[%j] : memref<8xf32>
      {body}
    }}
    affine.store %r, %s[] : memref<f32>"""


def summed(body: str) -> str:
    return f"""affine.for %j = 0 to 8 {{
      %c = affine.load %s[] : memref<f32>
      %x = affine.load %A[%j, 0] : memref<8x8xf32>
      %y = affine.load %A[%j, 1] : memref<8x8xf32>
      {body}
      affine.store %n, %s[] : memref<f32>
    }}"""


def chosen(predicate: str, operands: str) -> str:
    return f"""affine.for %j = 0 to 8 {{
      %c = affine.load %t[] : memref<i32>
      %x = affine.load %I[0, %j] : memref<8x8xi32>
      %p = arith.cmpi {predicate}, %c, %x : i32
      %n = arith.select %p, {operands} : i32
      affine.store %n, %t[] : memref<i32>
    }}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (summed("%n = math.fma %x, %y, %c : f32"), "j:r"),
        (summed("%n = math.fma %c, %y, %x : f32"), "j:s"),
        (summed("%n = math.fma %x, %c, %c : f32"), "j:s"),
        (carried("%n = arith.addf %c, %x : f32  affine.yield %n : f32"), "j:r"),
        (carried("%n = arith.subf %c, %x : f32  affine.yield %n : f32"), "j:r"),
        (carried("%n = arith.subf %x, %c : f32  affine.yield %n : f32"), "j:s"),
        (carried("affine.yield %x : f32"), "j:s"),
        (carried("%n = arith.addf %c, %c : f32  affine.yield %n : f32"), "j:s"),
        (
            carried(
                """%m = arith.addf %c, %x : f32
                %n = arith.addf %m, %zero : f32
                affine.yield %n : f32"""
            ),
            "j:r",
        ),
        (
            carried(
                """%n = arith.addf %c, %x : f32
                affine.store %n, %B[%j] : memref<8xf32>
                affine.yield %n : f32"""
            ),
            "j:s",
        ),
        (summed("%n = arith.addf %c, %x : f32"), "j:r"),
        (summed("%m = arith.addf %c, %x : f32  %n = arith.addf %y, %m : f32"), "j:r"),
        (summed("%m = arith.addf %c, %x : f32  %n = arith.subf %m, %y : f32"), "j:r"),
        (summed("%m = arith.addf %c, %x : f32  %n = arith.subf %y, %m : f32"), "j:s"),
        (summed("%m = arith.addf %c, %x : f32  %n = arith.mulf %m, %y : f32"), "j:s"),
        (summed("%m = arith.addf %c, %x : f32  %n = arith.addf %m, %m : f32"), "j:s"),
        (chosen("sgt", "%c, %x"), "j:r"),
        (chosen("ule", "%x, %c"), "j:r"),
        (chosen("eq", "%c, %x"), "j:s"),
    ],
)
def test_forms(body: str, expected: str) -> None:
    assert kinds(body) == expected


def test_carried_through_two_loops() -> None:
    inner = """%n = affine.for %i = 0 to 8 iter_args(%d = %c) -> (f32) {
        %y = affine.load %A[%i, %j] : memref<8x8xf32>
        %m = arith.addf %d, %y : f32
        affine.yield %m : f32
      }
      affine.yield %n : f32"""
    assert kinds(carried(inner)) == "j:r i:r"
    also_used = inner.replace(
        "affine.yield %n", "affine.store %n, %B[%j] : memref<8xf32>\naffine.yield %n"
    )
    assert kinds(carried(also_used)) == "j:s i:r"
    overwritten = inner.replace("%d, %y", "%y, %y")
    assert kinds(carried(overwritten)) == "j:s i:s"


def test_the_place_of_a_maximum_depends_on_the_order() -> None:
    body = """affine.for %j = 0 to 8 {
      %c = affine.load %t[] : memref<i32>
      %x = affine.load %I[0, %j] : memref<8x8xi32>
      %p = arith.cmpi sge, %c, %x : i32
      %n = arith.select %p, %c, %x : i32
      affine.store %n, %t[] : memref<i32>
      %old = affine.load %s[] : memref<f32>
      %new = arith.select %p, %old, %zero : f32
      affine.store %new, %s[] : memref<f32>
    }"""
    assert kinds(body) == "j:s"


def test_a_maximum_of_floats_by_comparing_depends_on_nans() -> None:
    body = "%p = arith.cmpf ogt, %c, %x : f32  %n = arith.select %p, %c, %x : f32"
    assert kinds(summed(body)) == "j:s"
    assert kinds(summed("%n = arith.maximumf %c, %x : f32")) == "j:r"


def test_signed_and_unsigned_maxima_do_not_mix() -> None:
    one = chosen("sgt", "%c, %x").replace("%j", "%k").replace("  }", "")
    body = (
        one
        + """
      %d = affine.load %t[] : memref<i32>
      %m = arith.maxui %d, %x : i32
      affine.store %m, %t[] : memref<i32>
    }"""
    )
    assert kinds(body) == "k:s"
