"""Elementwise consumers of contractions: on the tiles, or refused and still right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

DTYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i8": "i1", "f16": "f2"}
M, N = 37, 53
LAUNCH = "gpu.launch_func"
FUSED = "affine.store"
"""Scalar stores are left in the mapped text by nests that were not fused."""


@dataclass(frozen=True)
class Consumer:
    """A nest behind ``C = A B``, in Python and as MLIR.

    ``reads``: shapes of further operands, by name; ``target``: where it stores to.
    """

    lines: str
    answer: Callable[[Any, Any], Any]
    reads: tuple[tuple[str, tuple[int, ...]], ...] = ()
    target: str = "D"


def wrapped(lines: str) -> str:
    return f"""affine.for %i = 0 to {M} {{ affine.for %j = 0 to {N} {{
      {lines}
    }} }}"""


def typed(shape: tuple[int, ...], ty: str) -> str:
    return f"memref<{'x'.join(map(str, shape))}x{ty}>"


C = typed((M, N), "f32")
LOAD = f"%c = affine.load %C[%i, %j] : {C}"
RELU = "%r = arith.maximumf %s, %zero : f32"
STORE = f"affine.store %r, %D[%i, %j] : {C}"
IN_PLACE = f"affine.store %r, %C[%i, %j] : {C}"
COLUMN_BIAS = f"%x = affine.load %x[%j] : {typed((N,), 'f32')}".replace("%x =", "%b =")


def relu(c: Any) -> Any:
    return np.maximum(c, 0.0)


FUSIBLE = {
    "bias along columns, relu": Consumer(
        f"{LOAD}\n{COLUMN_BIAS}\n%s = arith.addf %c, %b : f32\n{RELU}\n{STORE}",
        lambda c, x: relu(c + x),
        (("x", (N,)),),
    ),
    "bias along rows": Consumer(
        f"""{LOAD}
        %b = affine.load %x[%i] : {typed((M,), "f32")}
        %r = arith.addf %c, %b : f32
        {STORE}""",
        lambda c, x: c + x[:, None],
        (("x", (M,)),),
    ),
    "in place": Consumer(
        f"{LOAD}\n{COLUMN_BIAS}\n%s = arith.addf %b, %c : f32\n{RELU}\n{IN_PLACE}",
        lambda c, x: relu(c + x),
        (("x", (N,)),),
        "C",
    ),
    "scaled row by row, clamped": Consumer(
        f"""{LOAD}
        %b = affine.load %x[%i] : {typed((M,), "f32")}
        %h = arith.constant 0.5 : f32
        %t = arith.mulf %b, %h : f32
        %m = arith.mulf %c, %t : f32
        %l = arith.maximumf %m, %h : f32
        %six = arith.constant 6.0 : f32
        %r = arith.minimumf %l, %six : f32
        {STORE}""",
        lambda c, x: np.clip(c * (x[:, None] * 0.5), 0.5, 6.0),
        (("x", (M,)),),
    ),
    "residual": Consumer(
        f"""{LOAD}
        %e = affine.load %x[%i, %j] : {C}
        %r = arith.addf %c, %e : f32
        {STORE}""",
        lambda c, x: c + x,
        (("x", (M, N)),),
    ),
    "what was there before": Consumer(
        f"""{LOAD}
        %d = affine.load %D[%i, %j] : {C}
        %r = arith.subf %d, %c : f32
        {STORE}""",
        lambda c, _: 1 - c,
    ),
    "one scalar, leaky": Consumer(
        f"""{LOAD}
        %b = affine.load %x[3] : {typed((M,), "f32")}
        %s = arith.subf %c, %b : f32
        %p = arith.cmpf ogt, %s, %zero : f32
        %q = arith.mulf %s, %b : f32
        %r = arith.select %p, %s, %q : f32
        {STORE}""",
        lambda c, x: (c - x[3]) * np.where(c > x[3], 1.0, x[3]),
        (("x", (M,)),),
    ),
    "tanh": Consumer(
        f"{LOAD}\n%r = math.tanh %c : f32\n{STORE}", lambda c, _: np.tanh(c)
    ),
}
REFUSED = {
    "transposed": Consumer(
        f"""%c = affine.load %C[%j, %i] : {C}
        %r = arith.addf %c, %c : f32
        {STORE}""",
        lambda c, _: np.pad(2 * c[:, :M].T, ((0, 0), (0, N - M))),
    ),
    "the neighbour": Consumer(
        f"""{LOAD}
        %n = affine.load %C[%i, (%j + 1) mod {N}] : {C}
        %r = arith.addf %c, %n : f32
        {STORE}""",
        lambda c, _: c + np.roll(c, -1, 1),
    ),
    "the row above": Consumer(
        f"""{LOAD}
        %n = affine.load %C[({M - 1} - %i), %j] : {C}
        %r = arith.addf %c, %n : f32
        {STORE}""",
        lambda c, _: c + c[::-1],
    ),
    "a running sum": Consumer(
        f"""{LOAD}
        %n = affine.load %x[%i] : {typed((M,), "f32")}
        %s = arith.addf %c, %n : f32
        affine.store %s, %x[%i] : {typed((M,), "f32")}
        affine.store %s, %D[%i, %j] : {C}""",
        lambda c, x: np.cumsum(c, 1) + x[:, None],
        (("x", (M,)),),
    ),
}


def program(consumer: Consumer, k: int, *, local: bool = False) -> str:
    """``C = A B`` from a fill, then the consumer; ``local``: C is nobody else's."""
    nest = wrapped(consumer.lines)
    if "%C[%j, %i]" in nest:
        nest = nest.replace(f"%j = 0 to {N}", f"%j = 0 to {M}")
    a, b = typed((M, k), "f32"), typed((k, N), "f32")
    extra = "".join(f", %{name}: {typed(s, 'f32')}" for name, s in consumer.reads)
    arguments = f"%A: {a}, %B: {b}, %D: {C}{extra}"
    made = f"%C = memref.alloc() : {C}" if local else ""
    freed = f"memref.dealloc %C : {C}" if local else ""
    if not local:
        arguments += f", %C: {C}"
    return f"""func.func @f({arguments}) {{
      %zero = arith.constant 0.0 : f32
      {made}
      linalg.fill ins(%zero : f32) outs(%C : {C})
      linalg.matmul ins(%A, %B : {a}, {b}) outs(%C : {C})
      {nest}
      {freed}
      return
    }}"""


def check(consumer: Consumer, k: int, target: str, *, local: bool) -> str:
    """Compare with NumPy; the text after the nests are mapped."""
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal(s).astype("f4") for s in ((M, k), (k, N)))
    extra = [rng.standard_normal(shape).astype("f4") for _, shape in consumer.reads]
    product = a.astype("f8") @ b
    first = extra[0].astype("f8") if extra else None
    expected = consumer.answer(product, first)
    c, d = np.full((M, N), np.nan, "f4"), np.ones((M, N), "f4")
    if "%C[%j, %i]" in consumer.lines:
        d[:] = 0
    compiled = gcg.compile(program(consumer, k, local=local), target=target)
    compiled.f(a, b, d, *extra, *([] if local else [c]))
    result = c if consumer.target == "C" else d
    np.testing.assert_allclose(result, expected, rtol=2e-3, atol=2e-3)
    if not local and consumer.target == "D":
        np.testing.assert_allclose(c, product, rtol=1e-3, atol=1e-3)
    stages = dict(compiled.stages("f"))
    return stages["map-cpu" if target == "cpu" else "map-gpu"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FUSIBLE)
def test_on_the_tile(name: str):
    mapped = check(FUSIBLE[name], 20, "cpu", local=False)
    assert FUSED not in mapped
    assert "vector.outerproduct" in mapped


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["bias along columns, relu", "bias along rows", "what was there before"]
)
@pytest.mark.parametrize("k", [20, 1100])
def test_sums_that_nobody_else_needs_are_not_stored(name: str, k: int):
    mapped = check(FUSIBLE[name], k, "cpu", local=True)
    assert FUSED not in mapped
    grow_in_memory = k > 512 and "before" in name
    assert ("%C" in mapped) == grow_in_memory


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in place", "residual"])
def test_only_the_last_block_of_a_sum_goes_on(name: str):
    assert FUSED not in check(FUSIBLE[name], 1100, "cpu", local=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUSIBLE)
def test_one_kernel_of_a_device(name: str):
    assert check(FUSIBLE[name], 20, "sim", local=False).count(LAUNCH) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, c in FUSIBLE.items() if c.target == "D"])
@pytest.mark.drawn(4)
def test_one_kernel_without_a_buffer_between(name: str):
    mapped = check(FUSIBLE[name], 20, "sim", local=True)
    assert mapped.count(LAUNCH) == 1
    assert "%C" not in mapped


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_other_cells_are_other_kernels(name: str):
    mapped = check(REFUSED[name], 20, "sim", local=True)
    assert mapped.count(LAUNCH) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_other_cells_are_refused(name: str):
    mapped = check(REFUSED[name], 20, "cpu", local=True)
    assert FUSED in mapped
    assert "vector.outerproduct" in mapped


STORED_FIRST = """
  affine.for %i = 0 to 9 { affine.for %j = 0 to 20 {
    affine.store %seven, %D[%i, %j] : memref<9x20xf32>
    %x = affine.load %C[%i, %j] : memref<9x20xf32>
    %y = arith.negf %x : f32
    affine.store %y, %D[%i, %j] : memref<9x20xf32>
  } }"""
TWO_READERS = """
  affine.for %i = 0 to 9 { affine.for %j = 0 to 20 {
    %x = affine.load %C[%i, %j] : memref<9x20xf32>
    %y = arith.addf %x, %seven : f32
    affine.store %y, %D[%i, %j] : memref<9x20xf32>
    %z = affine.load %C[%i, %j] : memref<9x20xf32>
    %w = arith.mulf %z, %seven : f32
    affine.store %w, %E[%i, %j] : memref<9x20xf32>
  } }"""
IN_TWO_NESTS = TWO_READERS.replace(
    "    %z = affine",
    "  } }\n  affine.for %i = 0 to 9 { affine.for %j = 0 to 20 {\n    %z = affine",
)
READ_BEFORE = """
  affine.for %i = 0 to 9 { affine.for %j = 0 to 20 {
    %d = affine.load %D[%i, %j] : memref<9x20xf32>
    %x = affine.load %C[%i, %j] : memref<9x20xf32>
    %y = arith.addf %x, %d : f32
    affine.store %y, %D[%i, %j] : memref<9x20xf32>
  } }"""
THROUGH_A_VIEW = """
  %V = memref.subview %D[0, 0] [9, 20] [1, 1]
      : memref<9x20xf32> to memref<9x20xf32, strided<[20, 1]>>
  affine.for %i = 0 to 9 { affine.for %j = 0 to 20 {
    %x = affine.load %C[%i, %j] : memref<9x20xf32>
    affine.store %seven, %D[%i, %j] : memref<9x20xf32>
    %d = affine.load %V[%i, %j] : memref<9x20xf32, strided<[20, 1]>>
    %y = arith.addf %x, %d : f32
    affine.store %y, %D[%i, %j] : memref<9x20xf32>
  } }"""
SUMS_STORED_TWICE = """
  affine.for %i = 0 to 9 { affine.for %j = 0 to 20 {
    %x = affine.load %C[%i, %j] : memref<9x20xf32>
    affine.store %x, %D[%i, %j] : memref<9x20xf32>
    affine.store %seven, %C[%i, %j] : memref<9x20xf32>
    %y = affine.load %C[%i, %j] : memref<9x20xf32>
    affine.store %y, %E[%i, %j] : memref<9x20xf32>
  } }"""
NESTS = {
    "stored first": STORED_FIRST,
    "two readers": TWO_READERS,
    "two readers in two nests": IN_TWO_NESTS,
    "read before": READ_BEFORE,
    "through a view": THROUGH_A_VIEW,
    "sums stored twice": SUMS_STORED_TWICE,
}


@pytest.mark.sampled(12)
@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("name", NESTS)
def test_sums_that_grow_in_a_result(name: str, target: str) -> None:
    """The buffer of sums is not needed, so they may grow where the epilogue stores."""
    matrix = "memref<9x20xf32>"
    text = f"""
func.func @f(%A: memref<9x12xf32>, %B: memref<12x20xf32>, %D: {matrix}, %E: {matrix}) {{
  %zero = arith.constant 0.0 : f32
  %seven = arith.constant 7.0 : f32
  %C = memref.alloc() : {matrix}
  linalg.fill ins(%zero : f32) outs(%C : {matrix})
  linalg.matmul ins(%A, %B : memref<9x12xf32>, memref<12x20xf32>) outs(%C : {matrix})
  {NESTS[name]}
  memref.dealloc %C : {matrix}
  return
}}"""
    rng = np.random.default_rng(1)
    shapes = (9, 12), (12, 20), (9, 20), (9, 20)
    arrays = [rng.integers(-4, 5, shape).astype("f4") for shape in shapes]
    gcg.check(text, *arrays, target=target)
