"""Attention as one kernel: the chains that are recognised, right values, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from bench.gpu.texts import attention
from gpucodegen.kernels import scaled_dot_product_attention

Array = np.ndarray[Any, Any]

CHAIN = """
#q = affine_map<(h, l, s, e) -> (h, l, e)>
#k = affine_map<(h, l, s, e) -> (h, s, e)>
#s = affine_map<(h, l, s, e) -> (h, l, s)>
#w = affine_map<(h, l, v, s) -> (h, l, s)>
#v = affine_map<(h, l, v, s) -> (h, s, v)>
#o = affine_map<(h, l, v, s) -> (h, l, v)>
#id = affine_map<(h, l, s) -> (h, l, s)>
#row = affine_map<(h, l, s) -> (h, l)>
func.func @f(%Q: tensor<2x70x32xf16>, %K: tensor<2x90x32xf16>, %V: tensor<2x90x32xf16>)
    -> RESULTS {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.2 : f32
  %e0 = tensor.empty() : tensor<2x70x90xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x70x90xf32>)
    -> tensor<2x70x90xf32>
  %S = linalg.generic {indexing_maps = [#q, #k, #s],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%Q, %K : tensor<2x70x32xf16>, tensor<2x90x32xf16>)
      outs(%e1 : tensor<2x70x90xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %z = arith.mulf %x, %y : f32
    %t = arith.addf %c, %z : f32
    linalg.yield %t : f32
  } -> tensor<2x70x90xf32>
  %X = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%S : tensor<2x70x90xf32>) outs(%e0 : tensor<2x70x90xf32>) {
  ^bb0(%a: f32, %b: f32):
    %x = arith.mulf %a, %scale : f32
    linalg.yield %x : f32
  } -> tensor<2x70x90xf32>
  %r0 = tensor.empty() : tensor<2x70xf32>
  %m0 = linalg.fill ins(%least : f32) outs(%r0 : tensor<2x70xf32>) -> tensor<2x70xf32>
  %M = linalg.reduce ins(%X : tensor<2x70x90xf32>) outs(%m0 : tensor<2x70xf32>)
      dimensions = [2] (%a: f32, %b: f32) {
    %x = arith.MAXIMUM %a, %b : f32
    linalg.yield %x : f32
  }
  %W = linalg.generic {indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%SHIFTED, %M : tensor<2x70x90xf32>, tensor<2x70xf32>)
      outs(%e0 : tensor<2x70x90xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.subf %a, %b : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x70x90xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%r0 : tensor<2x70xf32>) -> tensor<2x70xf32>
  %L = linalg.reduce ins(%SUMMED : tensor<2x70x90xf32>) outs(%l0 : tensor<2x70xf32>)
      dimensions = [2] (%a: f32, %b: f32) {
    %x = arith.addf %a, %b : f32
    linalg.yield %x : f32
  }
  %n0 = tensor.empty() : tensor<2x70x90xf16>
  %P = linalg.generic {indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%W, %L : tensor<2x70x90xf32>, tensor<2x70xf32>)
      outs(%n0 : tensor<2x70x90xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f16):
    %x = arith.divf %a, %b : f32
    %y = arith.truncf %x : f32 to f16
    linalg.yield %y : f16
  } -> tensor<2x70x90xf16>
  %o0 = tensor.empty() : tensor<2x70x32xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<2x70x32xf32>)
    -> tensor<2x70x32xf32>
  %O = linalg.generic {indexing_maps = [#w, #v, #o],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%P, %V : tensor<2x70x90xf16>, tensor<2x90x32xf16>)
      outs(%o1 : tensor<2x70x32xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %z = arith.mulf %x, %y : f32
    %t = arith.addf %c, %z : f32
    linalg.yield %t : f32
  } -> tensor<2x70x32xf32>
  return VALUES
}
"""
ONE = {"RESULTS": "tensor<2x70x32xf32>", "VALUES": "%O : tensor<2x70x32xf32>"}
PLAIN = {"MAXIMUM": "maximumf", "%SHIFTED": "%X", "%SUMMED": "%W", **ONE}


def text(changes: Mapping[str, str] = PLAIN) -> str:
    made = CHAIN
    for word, value in (PLAIN | dict(changes)).items():
        made = made.replace(word, value)
    return made


def small(changes: Mapping[str, str] = PLAIN) -> str:
    """The chain for one head with 24 rows and keys, which compiles in less time."""
    made = text(changes).replace("<2x", "<1x")
    return made.replace("70", "24").replace("90", "24")


def is_fused(source: str, **options: Any) -> bool:
    """Whether the second product is part of one launch with the first."""
    program = gcg.compile(source, target="sim", arch="sm_80", **options)
    name = program.names[0]
    stages = dict(program.stages(name))
    return "nvgpu.mma.sync" in stages.get("fuse-attention", "")


def attended(q: Array, k: Array, v: Array, scale: float, hidden: Any = None) -> Array:
    """Attention in float64; rows without a score are zeros."""
    scores = q.astype("f8") @ k.astype("f8").swapaxes(-1, -2) * scale
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    most = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    sums = powers.sum(-1, keepdims=True)
    return powers / np.where(sums == 0, 1, sums) @ v.astype("f8")


def numbers(*shapes: tuple[int, ...]) -> list[Array]:
    draws = np.random.default_rng(1)
    return [draws.standard_normal(shape).astype("f2") for shape in shapes]


def bound(v: Array) -> float:
    """Weights are rounded to 11 bits, and the result once more."""
    return float(2.0**-10 * np.abs(v).max())


@pytest.mark.slow
def test_a_chain_of_linalg() -> None:
    q, k, v = numbers((2, 70, 32), (2, 90, 32), (2, 90, 32))
    assert is_fused(text())
    found = gcg.compile(text(), target="sim").f(q, k, v)
    assert np.abs(found - attended(q, k, v, 0.2)).max() < bound(v)


DISTANCE = """%i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %r = arith.index_cast %i : index to i32
    %t = arith.index_cast %j : index to i32
    %d = arith.subi %r, %t : i32
    %f = arith.sitofp %d : i32 to f32
    %g = arith.mulf %f, %scale : f32
    %x = arith.addf %a, %g : f32
"""


@pytest.mark.slow
def test_positions_in_scores() -> None:
    source = text().replace("%x = arith.mulf %a, %scale : f32\n", DISTANCE, 1)
    q, k, v = numbers((2, 70, 32), (2, 90, 32), (2, 90, 32))
    assert is_fused(source)
    found = gcg.compile(source, target="sim").f(q, k, v)
    distance = 0.2 * (np.arange(70)[:, None] - np.arange(90))
    scores = q.astype("f8") @ k.astype("f8").swapaxes(-1, -2) + distance
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    expected = powers / powers.sum(-1, keepdims=True) @ v.astype("f8")
    assert np.abs(found - expected).max() < bound(v)


@pytest.mark.slow
def test_a_fill_that_is_read_before_the_sums_stays() -> None:
    sums = "memref<2x70x32xf32>"
    plain = attention({"H": 2, "L": 70, "S": 90, "D": 32})
    product = "  linalg.batch_matmul ins(%p"
    copied = f"  linalg.copy ins(%o : {sums}) outs(%z : {sums})\n{product}"
    source = plain.replace(product, copied).replace("%out:", f"%z: {sums}, %out:")
    q, k, v = numbers((2, 70, 32), (2, 90, 32), (2, 90, 32))
    z, out = np.ones((2, 70, 32), "f4"), np.zeros((2, 70, 32), "f2")
    gcg.compile(source, target="sim").f(q, k, v, z, out)
    assert not z.any()
    assert np.abs(out - attended(q, k, v, 32**-0.5)).max() < 2 * bound(v)


REFUSED = {
    "scores that live on": {
        "RESULTS": "(tensor<2x70x32xf32>, tensor<2x70x90xf32>)",
        "VALUES": "%O, %S : tensor<2x70x32xf32>, tensor<2x70x90xf32>",
    },
    "a shift of other scores": {"%SHIFTED": "%S"},
    "a sum of other terms": {"%SUMMED": "%X"},
    "a minimum": {"MAXIMUM": "minimumf"},
}


@pytest.mark.slow
def test_a_small_chain_is_fused() -> None:
    assert is_fused(small())


@pytest.mark.slow
@pytest.mark.parametrize("kind", REFUSED)
def test_other_small_chains_are_not_fused(kind: str) -> None:
    assert not is_fused(small(REFUSED[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", REFUSED)
def test_other_chains_compute_the_same(kind: str) -> None:
    source = small(REFUSED[kind])
    arrays = numbers(*[(1, 24, 32)] * 3)
    found = gcg.compile(source, target="sim").f(*arrays)
    expected = gcg.compile(source, target="cpu").f(*arrays)
    several = found if isinstance(found, tuple) else (found,)
    others = expected if isinstance(expected, tuple) else (expected,)
    for a, b in zip(several, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_exact_sums_stay_in_order() -> None:
    assert not is_fused(small(), exact=True)


SHAPES = [
    ((128, 64), 128, 64),
    ((2, 3, 200, 64), 136, 64),
    ((100, 128), 77, 128),
    ((150, 40), 165, 24),
    ((70, 256), 96, 64),
]


@pytest.mark.drawn(6)
@pytest.mark.slow
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_extents(shape: tuple[tuple[int, ...], int, int], is_causal: bool) -> None:
    (*batch, rows, depth), keys, width = shape
    q, k, v = numbers(
        (*batch, rows, depth), (*batch, keys, depth), (*batch, keys, width)
    )
    found = scaled_dot_product_attention(q, k, v, is_causal=is_causal, target="sim")
    hidden = ~np.tri(rows, keys, dtype=bool) if is_causal else None
    expected = attended(q, k, v, depth**-0.5, hidden)
    assert np.abs(found.astype("f8") - expected).max() < 2 * bound(v)


@pytest.mark.slow
@pytest.mark.parametrize("offset", [1, 2, 4, 8])
def test_masks_empty_rows_and_unaligned_arrays(offset: int) -> None:
    shapes = (2, 70, 32), (2, 90, 32), (2, 90, 32)
    parts = [np.zeros(x.size + 8, "f2")[offset:] for x in numbers(*shapes)]
    arrays = [p[: np.prod(s)].reshape(s) for p, s in zip(parts, shapes, strict=True)]
    for array, values in zip(arrays, numbers(*shapes), strict=True):
        array[...] = values
    hidden = np.random.default_rng(2).random((70, 90)) < 0.4
    hidden[3], hidden[69] = True, True
    out = np.zeros(2 * 70 * 32 + 8, "f2")[offset:][: 2 * 70 * 32].reshape(2, 70, 32)
    scaled_dot_product_attention(*arrays, ~hidden, out=out, target="sim")
    expected = attended(*arrays, 32**-0.5, hidden)
    assert np.abs(out.astype("f8") - expected).max() < 2 * bound(arrays[2])
    assert not out[:, 3].any()
