"""Functions as values: all callees are known, so that kernels call directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

FUNCTIONS = """
func.func private @up(%x: f32) -> f32 {
  %c = arith.constant 1.0 : f32
  %y = arith.addf %x, %c : f32
  return %y : f32
}
func.func private @twice(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
func.func private @down(%x: f32) -> f32 {
  %y = arith.negf %x : f32
  return %y : f32
}
func.func private @apply(%g: (f32) -> f32, %x: f32) -> f32 {
  %y = func.call_indirect %g(%x) : (f32) -> f32
  return %y : f32
}
func.func private @pick(%n: index) -> ((f32) -> f32) {
  %d = func.constant @down : (f32) -> f32
  %t = func.constant @twice : (f32) -> f32
  %one = arith.constant 1 : index
  %is = arith.cmpi eq, %n, %one : index
  %g = arith.select %is, %d, %t : (f32) -> f32
  return %g : (f32) -> f32
}
func.func private @through(%h: ((f32) -> f32, f32) -> f32, %x: f32) -> f32 {
  %u = func.constant @up : (f32) -> f32
  %y = func.call_indirect %h(%u, %x) : ((f32) -> f32, f32) -> f32
  return %y : f32
}
"""
TYPE = "(f32) -> f32"
BODIES = {
    "by each element": (
        f"""%c = arith.cmpf ogt, %x, %zero : f32
        %g = scf.if %c -> ({TYPE}) {{
          %u = func.constant @up : {TYPE}
          scf.yield %u : {TYPE}
        }} else {{
          %d = func.constant @down : {TYPE}
          scf.yield %d : {TYPE}
        }}
        %y = func.call_indirect %g(%x) : {TYPE}""",
        lambda x, _: np.where(x > 0, x + 1, -x),
    ),
    "by an argument": (
        f"""%g = func.call @pick(%n) : (index) -> ({TYPE})
        %y = func.call @apply(%g, %x) : ({TYPE}, f32) -> f32""",
        lambda x, n: -x if n == 1 else x + x,
    ),
    "by functions of functions": (
        f"""%h = func.constant @apply : ({TYPE}, f32) -> f32
        %y = func.call @through(%h, %x) : (({TYPE}, f32) -> f32, f32) -> f32""",
        lambda x, _: x + 1,
    ),
}


def program(body: str, target: str) -> Any:
    text = f"""{FUNCTIONS}
    func.func @f(%a: memref<16xf32>, %n: index) {{
      %zero = arith.constant 0.0 : f32
      affine.for %i = 0 to 16 {{
        %x = affine.load %a[%i] : memref<16xf32>
        {body}
        affine.store %y, %a[%i] : memref<16xf32>
      }}
      return
    }}"""
    return gcg.compile(text, target=target)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
@pytest.mark.parametrize("name", list(BODIES))
def test_indirect_calls_in_parallel_loops(name: str, target: str):
    body, meaning = BODIES[name]
    made = program(body, target)
    for n in (1, 2):
        a = np.arange(-8, 8, dtype=np.float32)
        want = meaning(a, n)
        made.f(a, n)
        np.testing.assert_array_equal(a, want)


def test_the_loop_is_one_kernel():
    made = program(BODIES["by each element"][0], "sim")
    made.f(np.ones(16, np.float32), 1)
    stages = dict(made.stages("f"))
    assert "call_indirect" not in stages["devirtualize-calls"]
    assert stages["map-gpu"].count("gpu.launch_func") == 1


def test_function_values_that_come_from_outside_stay():
    text = (
        FUNCTIONS
        + f"""func.func @f(%g: {TYPE}, %x: f32) -> f32 {{
      %u = func.constant @up : {TYPE}
      %y = func.call_indirect %g(%x) : {TYPE}
      return %y : f32
    }}"""
    )
    from gpucodegen.passes.prepare.devirtualize_calls import DevirtualizeCalls

    module = gcg.parse(text)
    assert DevirtualizeCalls("f").apply(module) is module
