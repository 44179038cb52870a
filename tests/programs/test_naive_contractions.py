"""Naive products of matrices run as ``linalg.matmul`` does, however they are made."""

from __future__ import annotations

import re
from itertools import permutations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.programs.products import integers
from tests.targets import ALL

M, N, K = 70, 65, 90
TYPES = f"memref<{M}x{K}xf32>, memref<{K}x{N}xf32>, memref<{M}x{N}xf32>"
HEAD = "func.func @f(%alpha: f32, %beta: f32, %A: {}, %B: {}, %C: {}) {{".format(
    *TYPES.split(", ")
)
LINALG = f"""{HEAD}
  linalg.matmul ins(%A, %B : {", ".join(TYPES.split(", ")[:2])})
    outs(%C : {TYPES.split(", ")[2]})
  return
}}"""
EXTENTS = {"i": M, "j": N, "k": K}


def in_memory(order: tuple[str, ...]) -> str:
    loops = "".join(f"affine.for %{v} = 0 to {EXTENTS[v]} {{\n" for v in order)
    return f"""{HEAD}
    {loops}
      %a = affine.load %A[%i, %k] : memref<{M}x{K}xf32>
      %b = affine.load %B[%k, %j] : memref<{K}x{N}xf32>
      %c = affine.load %C[%i, %j] : memref<{M}x{N}xf32>
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      affine.store %s, %C[%i, %j] : memref<{M}x{N}xf32>
    }} }} }}
    return
  }}"""


def carried(before: str, after: str, order: str = "ij") -> str:
    """The sum from %first goes to memory as %done."""
    loops = "".join(f"affine.for %{v} = 0 to {EXTENTS[v]} {{\n" for v in order)
    return f"""{HEAD}
    %zero = arith.constant 0.0 : f32
    {loops}
      {before}
      %sum = affine.for %k = 0 to {K} iter_args(%part = %first) -> (f32) {{
        %a = affine.load %A[%i, %k] : memref<{M}x{K}xf32>
        %b = affine.load %B[%k, %j] : memref<{K}x{N}xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %part, %p : f32
        affine.yield %s : f32
      }}
      {after}
      affine.store %done, %C[%i, %j] : memref<{M}x{N}xf32>
    }} }}
    return
  }}"""


def in_a_buffer(shape: str, at: str) -> str:
    """The sum of each cell grows in a buffer of the function."""
    ty = f"memref<{shape}f32>"
    return f"""{HEAD}
    %zero = arith.constant 0.0 : f32
    %t = memref.alloc() : {ty}
    affine.for %i = 0 to {M} {{ affine.for %j = 0 to {N} {{
      affine.store %zero, %t[{at}] : {ty}
      affine.for %k = 0 to {K} {{
        %a = affine.load %A[%i, %k] : memref<{M}x{K}xf32>
        %b = affine.load %B[%k, %j] : memref<{K}x{N}xf32>
        %p = arith.mulf %a, %b : f32
        %part = affine.load %t[{at}] : {ty}
        %s = arith.addf %part, %p : f32
        affine.store %s, %t[{at}] : {ty}
      }}
      %sum = affine.load %t[{at}] : {ty}
      %old {LOAD}
      %x = arith.mulf %alpha, %sum : f32
      %y = arith.mulf %beta, %old : f32
      %done = arith.addf %x, %y : f32
      affine.store %done, %C[%i, %j] : memref<{M}x{N}xf32>
    }} }}
    memref.dealloc %t : {ty}
    return
  }}"""


LOAD = f"= affine.load %C[%i, %j] : memref<{M}x{N}xf32>"
ONE = "%one = arith.constant 1.0 : f32"
SAME = f"{ONE} %done = arith.mulf %one, %sum : f32"
SCALED = f"""%old {LOAD}
  %x = arith.mulf %alpha, %sum : f32
  %y = arith.mulf %beta, %old : f32
  %done = arith.addf %x, %y : f32"""
CARRIED = {
    "from nothing": ("%first = arith.mulf %zero, %alpha : f32", SAME, (1, 0)),
    "from the cell": (f"%first {LOAD}", SAME, (1, 1)),
    "scaled afterwards": ("%first = arith.addf %zero, %zero : f32", SCALED, (2, 3)),
    "scaled before": (
        f"%old {LOAD} %first = arith.mulf %old, %beta : f32",
        SAME,
        (1, 3),
    ),
}
"""What makes the first value, and the last; factors of A B and of C."""


def run(text: str, target: str = "cpu") -> tuple[gcg.Program, np.ndarray, np.ndarray]:
    a, b, c = integers(M, K), integers(K, N), integers(M, N)
    compiled = gcg.compile(text, target=target)
    compiled.f(2.0, 3.0, a, b, c)
    return compiled, a @ b, c


def kernels(compiled: gcg.Program) -> str:
    """The generated source, loops named as here, without places of the program."""
    names = {"d0": "i", "d1": "j", "d2": "k"}
    source = re.sub(r" +# .*", "", compiled.source("f"))
    return re.sub(r"\bd[012]", lambda match: names[match[0]], source)


@pytest.mark.slow
def test_memory_accumulates_in_any_order():
    """The same kernel results, so it is enough to run one of them."""
    compiled, product, c = run(LINALG)
    assert np.array_equal(c, integers(M, N) + product)
    for order in permutations("ijk"):
        other, product, c = run(in_memory(order))
        assert kernels(other) == kernels(compiled), order
        assert np.array_equal(c, integers(M, N) + product)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["ij", "ji"])
@pytest.mark.parametrize("form", CARRIED)
def test_carried_sums(form: str, order: str):
    before, after, (factor, old) = CARRIED[form]
    compiled, product, c = run(carried(before, after, order))
    assert np.array_equal(c, factor * product + old * integers(M, N))
    assert "vector.outerproduct" in dict(compiled.stages("f"))["map-cpu"]


def scaled(flags: str = "", shape: tuple[int, int, int] = (M, N, K)) -> str:
    """``C += alpha (A B)``, the product of each pair of elements scaled."""
    m, n, k = shape
    return f"""func.func @f(%alpha: f32, %beta: f32, %A: memref<{m}x{k}xf32>,
                            %B: memref<{k}x{n}xf32>, %C: memref<{m}x{n}xf32>) {{
    affine.for %i = 0 to {m} {{ affine.for %k = 0 to {k} {{ affine.for %j = 0 to {n} {{
      %a = affine.load %A[%i, %k] : memref<{m}x{k}xf32>
      %b = affine.load %B[%k, %j] : memref<{k}x{n}xf32>
      %c = affine.load %C[%i, %j] : memref<{m}x{n}xf32>
      %ab = arith.mulf %a, %b {flags} : f32
      %p = arith.mulf %ab, %alpha {flags} : f32
      %s = arith.addf %c, %p {flags} : f32
      affine.store %s, %C[%i, %j] : memref<{m}x{n}xf32>
    }} }} }}
    return
  }}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("flags", ["", "fastmath<reassoc>"])
def test_products_that_are_scaled(flags: str, target: str):
    compiled, product, c = run(scaled(flags), target)
    assert np.array_equal(c, 2 * product + integers(M, N))
    if target == "cpu":
        mapped = dict(compiled.stages("f"))["map-cpu"]
        assert "vector.outerproduct" in mapped
        assert ("vector.fma" in mapped) == (not flags)


SUBTRACTED = in_memory(("i", "k", "j")).replace("arith.addf %c", "arith.subf %c")


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_products_that_are_subtracted(target: str):
    compiled, product, c = run(SUBTRACTED, target)
    assert np.array_equal(c, integers(M, N) - product)
    if target == "cpu":
        assert "vector.outerproduct" in dict(compiled.stages("f"))["map-cpu"]


@pytest.mark.slow
def test_products_that_are_subtracted_from_carried_sums():
    before, after, _ = CARRIED["from the cell"]
    text = carried(before, after).replace("addf %part, %p", "subf %part, %p")
    compiled, product, c = run(text)
    assert np.array_equal(c, integers(M, N) - product)
    assert "vector.outerproduct" in dict(compiled.stages("f"))["map-cpu"]


def test_sums_that_are_subtracted_from_products():
    """``C = A B - C`` changes the sign in each step: it is no contraction."""
    text = SUBTRACTED.replace("arith.subf %c, %p", "arith.subf %p, %c")
    compiled, _, c = run(text)
    a, b, expected = integers(M, K), integers(K, N), integers(M, N)
    for k in range(K):
        expected = np.outer(a[:, k], b[k]) - expected
    assert np.array_equal(c, expected)
    assert "vector.outerproduct" not in dict(compiled.stages("f"))["map-cpu"]


@pytest.mark.slow
def test_differences_keep_the_sign_of_zero():
    """0 - (0 * 1) * 1 is 0, and -0 - (0 * 1) * 1 is -0."""
    text = scaled(shape=(2, 8, 1)).replace("arith.addf", "arith.subf")
    a, b = np.zeros((2, 1), "f4"), np.ones((1, 8), "f4")
    c = np.array([[0.0] * 8, [-0.0] * 8], "f4")
    gcg.compile(text, target="cpu").f(1.0, 1.0, a, b, c)
    np.testing.assert_array_equal(np.signbit(c), [[False] * 8, [True] * 8])


@pytest.mark.parametrize("rows", [1, 9])
def test_products_are_rounded_before_they_are_scaled(rows: int):
    """One term each, so that nothing else is rounded; -0 keeps its sign."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype("f4") for s in ((rows, 1), (1, 40)))
    a[0, 0], b[0, 1] = -0.0, abs(b[0, 1])
    c, alpha = np.full((rows, 40), -0.0, np.float32), np.float32(1.1)
    gcg.compile(scaled(shape=(rows, 40, 1)), target="cpu").f(alpha, 0.0, a, b, c)
    expected = np.float32(-0.0) + alpha * (a * b)
    np.testing.assert_array_equal(c.view("i4"), expected.view("i4"))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("m", [203, 901])
def test_factors_that_are_computed_are_packed_by_each_task(m: int, threads: int):
    n, k = 135, 700
    text = scaled(shape=(m, n, k)).replace("%a, %b", "%a, %alpha")
    text = text.replace("%ab, %alpha", "%ab, %b")
    a, b, c = integers(m, k), integers(k, n), integers(m, n)
    compiled = gcg.compile(text, target="cpu", threads=threads)
    expected = c + 2 * (a @ b)
    compiled.f(2.0, 3.0, a, b, c)
    assert np.array_equal(c, expected)
    mapped = dict(compiled.stages("f"))["map-cpu"]
    if m > 900:
        assert mapped.index("%panels =") < mapped.index("arith.mulf %a, %alpha")


BUFFERS = {"cell": ("", ""), "vector": ("1x", "0"), "row": (f"{N}x", "%j")}


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize(("shape", "at"), BUFFERS.values(), ids=BUFFERS)
def test_sums_in_buffers(shape: str, at: str, target: str):
    compiled, product, c = run(in_a_buffer(shape, at), target)
    assert np.array_equal(c, 2 * product + 3 * integers(M, N))
    if target == "cpu":
        assert "vector.outerproduct" in dict(compiled.stages("f"))["map-cpu"]


@pytest.mark.parametrize("form", CARRIED)
@pytest.mark.sampled(4)
def test_carried_sums_on_the_emulated_device(form: str):
    before, after, (factor, old) = CARRIED[form]
    _, product, c = run(carried(before, after), "sim")
    assert np.array_equal(c, factor * product + old * integers(M, N))


@pytest.mark.slow
def test_a_result_that_is_read_elsewhere_is_summed_elsewhere():
    """Rows of C are factors of the rows below: nothing may be stored early."""
    text = f"""func.func @f(%A: memref<{M}x{M}xf32>, %C: memref<{M}x{N}xf32>) {{
      %zero = arith.constant 0.0 : f32
      affine.for %i = 0 to {M} {{
        affine.for %j = 0 to {N} {{
          %sum = affine.for %k = 0 to {M} iter_args(%part = %zero) -> (f32) {{
            %a = affine.load %A[%i, %k] : memref<{M}x{M}xf32>
            %c = affine.load %C[%k, %j] : memref<{M}x{N}xf32>
            %p = arith.mulf %a, %c : f32
            %s = arith.addf %part, %p : f32
            affine.yield %s : f32
          }}
          affine.store %sum, %C[%i, %j] : memref<{M}x{N}xf32>
        }}
      }}
      return
    }}"""
    a, c = np.sign(integers(M, M)) * np.eye(M, dtype="f4"), integers(M, N)
    a += np.eye(M, k=-1, dtype="f4")
    expected = c.copy()
    for i in range(M):
        expected[i] = a[i] @ expected
    gcg.compile(text, target="cpu").f(a, c)
    assert np.array_equal(c, expected)
