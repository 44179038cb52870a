"""Several rows reduced at once: each as before, whatever rows are left."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter import interpret

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.loops.iterations.jam_rows import JamRows

RNG = np.random.default_rng(2)


def rows(body: str, count: int, starts: str = "%zero", types: str = "f64") -> str:
    """A function that reduces each row of x and stores what the body calls %t."""
    x, names = f"memref<{count}x512xf64>", ["%a", "%b"][: starts.count("%")]
    inits = ", ".join(
        f"{n} = {s}" for n, s in zip(names, starts.split(", "), strict=True)
    )
    return f"""func.func @f(%x: {x}, %s: memref<{count}xf64>) {{
      %zero = arith.constant 0.0 : f64
      affine.for %i = 0 to {count} {{
        %t:{len(names)} = affine.for %j = 0 to 512 iter_args({inits}) -> ({types}) {{
          %v = affine.load %x[%i, %j] : {x}
          {body}
        }}
        affine.store %t#0, %s[%i] : memref<{count}xf64>
      }}
      return
    }}"""


MAXIMUM = """%m = arith.maximumf %a, %v : f64
             affine.yield %m : f64"""
SUM = """%m = arith.addf %a, %v fastmath<reassoc> : f64
         affine.yield %m : f64"""
MOMENTS = """%m = arith.addf %a, %v fastmath<reassoc> : f64
             %w = arith.mulf %v, %v : f64
             %n = arith.addf %b, %w fastmath<reassoc> : f64
             affine.yield %m, %n : f64, f64"""
FORMS = {
    "maximum": (MAXIMUM, "%zero", "f64"),
    "sum": (SUM, "%zero", "f64"),
    "moments": (MOMENTS, "%zero, %zero", "f64, f64"),
}


def jammed(text: str, cache: int = 0) -> gcg.Module:
    return run_pipeline(gcg.parse(text), [JamRows(cache=cache)])


@pytest.mark.parametrize("count", [8, 9, 15, 18])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.sampled(5)
def test_each_row_is_reduced_as_before(form: tuple[str, str, str], count: int):
    text = rows(form[0], count, *form[1:])
    made = jammed(text)
    assert "step 4" in str(made)
    assert str(gcg.parse(str(made))) == str(made)
    arguments = [RNG.standard_normal((count, 512)), np.zeros(count)]
    before, after = (interpret(m, arguments) for m in (gcg.parse(text), made))
    np.testing.assert_array_equal(after.arrays[1], before.arrays[1])


STAYS = {
    "an order to keep": rows(SUM.replace("fastmath<reassoc>", ""), 16),
    "few rows": rows(MAXIMUM, 7),
    "a function": rows(
        MAXIMUM.replace("%a, %v", "%a, %e").replace(
            "%m =", "%e = math.exp %v : f64\n %m ="
        ),
        16,
    ),
    "a row that is stored": rows(
        "affine.store %v, %x[%i, %j] : memref<16x512xf64>\n" + MAXIMUM, 16
    ),
    "rows that depend on each other": rows(MAXIMUM, 16).replace("%s[%i] :", "%s[0] :"),
    "one row": rows(MAXIMUM, 16).replace("%x[%i, %j]", "%x[3, %j]"),
    "short rows": rows(MAXIMUM, 16).replace("to 512", "to 511"),
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_what_stays_one_by_one(text: str):
    assert str(jammed(text)) == str(gcg.parse(text))


def test_what_fits_the_caches_stays():
    text = rows(MAXIMUM, 16)
    assert str(jammed(text, cache=16 * 512 * 8 // 4)) == str(gcg.parse(text))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["maximumf", "addf"])
def test_large_matrices(kind: str, threads: int):
    x = "memref<1003x4001xf32>"
    text = f"""func.func @f(%x: {x}, %s: memref<1003xf32>) {{
      linalg.reduce ins(%x : {x}) outs(%s : memref<1003xf32>) dimensions = [1]
        (%v: f32, %a: f32) {{
          %r = arith.{kind} %a, %v : f32
          linalg.yield %r : f32
        }}
      return
    }}"""
    program = gcg.compile(text, target="cpu", threads=threads)
    given, found = RNG.standard_normal((1003, 4001), dtype="f4"), np.zeros(1003, "f4")
    program.f(given, found)
    expected = given.max(1).clip(0) if kind == "maximumf" else given.sum(1, dtype="f8")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
