"""Several nests behind one product: chains, and stores that it must not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

N = 40
T, LINE = f"memref<{N}x{N}xf32>", f"memref<{N}xf32>"


def nest(body: str) -> str:
    return f"affine.for %i = 0 to {N} {{ affine.for %j = 0 to {N} {{ {body} }} }}"


def load(name: str, place: str = "%i, %j") -> str:
    return f"%v = affine.load %{name}[{place}] : {T}"


def store(value: str, name: str, place: str = "%i, %j") -> str:
    return f"affine.store %{value}, %{name}[{place}] : {T}"


CHAIN = (
    nest(
        f"""{load("C")}
        %b = affine.load %x[%j] : {LINE}
        %e = arith.addf %v, %b : f32
        {store("e", "E")}"""
    )
    + nest(f"{load('E')}\n%m = arith.mulf %v, %two : f32\n{store('m', 'E')}")
    + nest(f"{load('E')}\n%m = arith.maximumf %v, %zero : f32\n{store('m', 'D')}")
)
LAYERS = (
    nest(f"{load('C')}\n%m = arith.maximumf %v, %zero : f32\n{store('m', 'E')}")
    + f"""linalg.fill ins(%zero : f32) outs(%D : {T})
      linalg.matmul ins(%E, %B : {T}, {T}) outs(%D : {T})"""
    + nest(f"{load('D')}\n%m = arith.mulf %v, %two : f32\n{store('m', 'D')}")
)
SHIFTED = f"""affine.for %i = 1 to {N + 1} {{ affine.for %j = 2 to {2 * N + 2} step 2 {{
  {load("C", "%i - 1, (%j - 2) floordiv 2")}
  {store("v", "D", "%i - 1, (%j - 2) floordiv 2")}
}} }}"""
TURNED = nest(f"{load('C')}\n{store('v', 'D')}\n{store('v', 'A', '%j, %i')}")

Answer = Callable[[Any, Any, Any], dict[str, Any]]
CASES: dict[str, tuple[str, Answer, str]] = {
    "three in a row": (
        CHAIN,
        lambda a, b, x: {"D": np.maximum(2 * (a @ b + x), 0)},
        "",
    ),
    "two layers": (LAYERS, lambda a, b, _: {"D": 2 * np.maximum(a @ b, 0) @ b}, "E"),
    "other bounds and steps": (SHIFTED, lambda a, b, _: {"D": a @ b}, ""),
    "into the left factor": (
        nest(f"{load('C')}\n{store('v', 'A')}"),
        lambda a, b, _: {"A": a @ b},
        "C",
    ),
    "into the right factor": (
        nest(f"{load('C')}\n{store('v', 'B')}"),
        lambda a, b, _: {"B": a @ b},
        "C",
    ),
    "transposed into a factor": (
        TURNED,
        lambda a, b, _: {"D": a @ b, "A": (a @ b).T},
        "C",
    ),
}
"""Nests, what they leave in which array, and the local buffers that must stay."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(8)
def test_chains(name: str):
    nests, answer, kept = CASES[name]
    text = f"""func.func @f(%A: {T}, %B: {T}, %D: {T}, %x: {LINE}) {{
      %zero = arith.constant 0.0 : f32
      %two = arith.constant 2.0 : f32
      %C = memref.alloc() : {T}
      %E = memref.alloc() : {T}
      linalg.fill ins(%zero : f32) outs(%C : {T})
      linalg.matmul ins(%A, %B : {T}, {T}) outs(%C : {T})
      {nests}
      memref.dealloc %C : {T}
      memref.dealloc %E : {T}
      return
    }}"""
    rng = np.random.default_rng(5)
    arrays = {key: rng.standard_normal((N, N)).astype("f4") for key in "ABD"}
    bias = rng.standard_normal(N).astype("f4")
    expected = answer(*(v.astype("f8") for v in (arrays["A"], arrays["B"], bias)))
    program = gcg.compile(text, target="cpu", threads=1)
    program.f(*arrays.values(), bias)
    for key, right in expected.items():
        np.testing.assert_allclose(arrays[key], right, rtol=1e-3, atol=1e-3)
    mapped = dict(program.stages("f"))["map-cpu"]
    assert ("affine.store" in mapped) == (kept == "C")
    assert [key for key in "CE" if f"%{key} = memref.alloc" in mapped] == [*kept]
