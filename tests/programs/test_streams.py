"""Elementwise nests and transposes on the emulated device, against NumPy."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.runtime.devices import emulated_cupy as xp

KINDS = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i8": np.int8}


def numbers(count: int, ty: str, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).integers(-4, 5, count)
    return values.astype(KINDS[ty])


def permuted(
    shape: tuple[int, ...], order: tuple[int, ...], ty: str, first: int = 0
) -> str:
    """``b[i permuted] = a[i] + a[i] + c[i permuted]`` from ``first`` on."""
    ivs = [f"%i{d}" for d in range(len(shape))]
    turned = ", ".join(ivs[d] for d in order)
    given, made = (
        f"memref<{'x'.join(map(str, extents))}x{ty}>"
        for extents in (shape, [shape[d] for d in order])
    )
    add = "arith.addi" if ty == "i8" else "arith.addf"
    loops = "".join(
        f"affine.for {iv} = {min(first, n)} to {n} {{ "
        for iv, n in zip(ivs, shape, strict=True)
    )
    return f"""
func.func @f(%a: {given}, %b: {made}, %c: {made}) {{
  {loops}
    %x = affine.load %a[{", ".join(ivs)}] : {given}
    %y = affine.load %c[{turned}] : {made}
    %z = {add} %x, %x : {ty}
    %w = {add} %z, %y : {ty}
    affine.store %w, %b[{turned}] : {made}
  {"} " * len(shape)}
  return
}}"""


def check(
    shape: tuple[int, ...],
    order: tuple[int, ...],
    ty: str,
    *,
    starts: tuple[int, int] = (0, 0),
    first: int = 0,
) -> str:
    """Compare a permutation with NumPy; the mapped kernel."""
    size, turned = int(np.prod(shape)), tuple(shape[d] for d in order)
    a, b, c = (numbers(size + 8, ty, seed) for seed in range(3))
    device = [xp.asarray(x) for x in (a, b, c)]
    ranges = [slice(at, at + size) for at in (*starts, 0)]
    forms = shape, turned, turned
    views = [
        x[r].reshape(form) for x, r, form in zip(device, ranges, forms, strict=True)
    ]
    function = gcg.compile(permuted(shape, order, ty, first), target="sim").f
    function(*views)
    left, result, right = (
        x[r].reshape(form) for x, r, form in zip((a, b, c), ranges, forms, strict=True)
    )
    inside = tuple(slice(min(first, n), None) for n in turned)
    moved = left.transpose(order)[inside]
    result[inside] = moved + moved + right[inside]
    np.testing.assert_array_equal(device[1].get(), b)
    return dict(function.executable().stages)["map-gpu"]


SHAPES = [
    ((1,), (0,)),
    ((0,), (0,)),
    ((4097,), (0,)),
    ((37, 21), (0, 1)),
    ((3, 0), (0, 1)),
    ((64, 64), (1, 0)),
    ((65, 130), (1, 0)),
    ((1, 7), (1, 0)),
    ((3, 40, 50), (0, 2, 1)),
    ((40, 3, 52), (2, 1, 0)),
    ((2, 3, 16, 32), (0, 1, 3, 2)),
    ((4, 16, 8, 24), (3, 1, 0, 2)),
]


@pytest.mark.drawn(2)
@pytest.mark.sampled(36)
@pytest.mark.cases("ty", KINDS, parts=5)
@pytest.mark.cases(("shape", "order"), SHAPES)
@pytest.mark.cases(("starts", "first"), [((0, 0), 0), ((1, 2), 1), ((4, 0), 0)])
def test_permutations(
    shape: tuple[int, ...],
    order: tuple[int, ...],
    ty: str,
    starts: tuple[int, int],
    first: int,
) -> None:
    check(shape, order, ty, starts=starts, first=first)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_permutations_of_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=3)))
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    ty = data.draw(st.sampled_from(sorted(KINDS)))
    starts = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    check(shape, order, ty, starts=starts, first=data.draw(st.integers(0, 2)))


def test_a_nest_without_gaps_is_one_row_of_wide_accesses() -> None:
    mapped = check((512, 129), (0, 1), "f32")
    assert "collapse_shape" in mapped
    assert set(re.findall(r"alignment = (\d+)", mapped)) == {"16"}


def test_rows_that_begin_anywhere_are_wide_where_all_addresses_are() -> None:
    """The loop begins at 1; its groups begin before it."""
    text = permuted((65536,), (0,), "f32", first=1)
    a, b, c = (numbers(65536, "f32", seed) for seed in range(3))
    function = gcg.compile(text, target="sim").f
    expected = np.concatenate([b[:1], (a + a + c)[1:]])
    function(a, b, c)
    np.testing.assert_array_equal(b, expected)
    mapped = dict(function.executable().stages)["map-gpu"]
    assert "alignment = 16" in mapped


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_a_fill_of_open_extents_is_proven(rank: int) -> None:
    """Block indices are not divided by extents that only a call knows."""
    ty = f"memref<{'?x' * rank}f32>"
    text = f"""func.func @f(%x: {ty}) {{
      %zero = arith.constant 0.0 : f32
      linalg.fill ins(%zero : f32) outs(%x : {ty})
      return
    }}"""
    x = np.ones((3, 2, 5, 3, 2)[:rank], np.float32)
    gcg.compile(text, target="sim", specialize=False).f(x)
    assert not x.any()


def test_few_rows_of_bytes_are_transposed() -> None:
    """Groups of 16 bytes would leave threads of a block without one."""
    text = """func.func @f(%x: memref<16x6xi8>, %y: memref<6x16xi8>) {
      linalg.transpose ins(%x : memref<16x6xi8>) outs(%y : memref<6x16xi8>)
        permutation = [1, 0]
      return
    }"""
    x = np.arange(96, dtype=np.int8).reshape(16, 6)
    y = np.zeros((6, 16), np.int8)
    gcg.compile(text, target="sim").f(x, y)
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.slow
def test_a_transpose_goes_through_shared_memory() -> None:
    mapped = check((64, 96), (1, 0), "f16")
    assert "workgroup" in mapped
    assert set(re.findall(r"vector<(\d+)xf16>", mapped)) == {"8"}


@pytest.mark.slow
def test_the_proof_misses_the_barrier_of_a_transpose() -> None:
    program = gcg.compile(permuted((64, 64), (1, 0), "f32"), target="cuda")
    module = next(m for n, m in program["f"].executable().made if n == "map-gpu")
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    check_kernel(kernel, Surroundings.of(module))
    block = kernel.body
    kept = [op for op in block.operations if op.name != "gpu.barrier"]
    assert len(kept) == len(block.operations) - 1
    spoilt = replace(kernel).with_body(kept)
    with pytest.raises(errors.RaceFound):
        check_kernel(spoilt, Surroundings.of(module))


CHAIN = """
func.func @f(%a: memref<?x?xf32>, %bias: memref<?xf32>, %b: memref<?x?xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %t = memref.alloc(%n, %m) : memref<?x?xf32>
  affine.for %i = 0 to %n { affine.for %j = 0 to %m {
    %v = affine.load %a[%i, %j] : memref<?x?xf32>
    %q = affine.load %bias[%j] : memref<?xf32>
    %w = arith.addf %v, %q : f32
    affine.store %w, %t[%i, %j] : memref<?x?xf32>
  } }
  affine.for %i = 0 to %n { affine.for %j = 0 to %m {
    %v = affine.load %t[%i, %j] : memref<?x?xf32>
    %w = arith.maximumf %v, %zero : f32
    %h = arith.truncf %w : f32 to f16
    affine.store %h, %b[%i, %j] : memref<?x?xf16>
  } }
  memref.dealloc %t : memref<?x?xf32>
  return
}"""


@pytest.mark.sampled(9)
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 33), (33, 64), (3, 1000)])
@pytest.mark.parametrize("specialize", [True, False])
def test_chains_are_one_kernel(shape: tuple[int, int], specialize: bool) -> None:
    a = numbers(shape[0] * shape[1], "f32").reshape(shape)
    bias = numbers(shape[1], "f32")
    b = np.zeros(shape, np.float16)
    function = gcg.compile(CHAIN, target="sim", specialize=specialize).f
    function(a, bias, b)
    np.testing.assert_array_equal(b, np.maximum(a + bias, 0).astype(np.float16))
    assert not specialize or len(function.executable().kernels) <= 1


STRIDED = """
func.func @f(%a: memref<?x?xf32, strided<[?, ?], offset: ?>>,
             %b: memref<?x?xf32, strided<[?, ?], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %m = memref.dim %a, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  affine.for %i = 0 to %n { affine.for %j = 0 to %m {
    %v = affine.load %a[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
    %w = arith.addf %v, %v : f32
    affine.store %w, %b[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
  } }
  return
}"""
VIEWS: dict[str, Any] = {
    "whole": np.s_[:, :],
    "rows": np.s_[::2, :],
    "columns": np.s_[:, ::3],
    "reversed": np.s_[::-1, ::-1],
    "inner": np.s_[1:, 1:-3],
    "aligned": np.s_[2:, 4:-4],
}


@pytest.mark.sampled(6)
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str, *, turned: bool) -> None:
    a, view = numbers(40 * 60, "f32").reshape(40, 60), VIEWS[name]
    source, into = a[view], np.zeros_like(a)
    target = into[view]
    if turned:
        target = np.zeros(source.shape[::-1], np.float32).T
    gcg.compile(STRIDED, target="sim").f(source, target)
    np.testing.assert_array_equal(target, 2 * source)


def test_in_place() -> None:
    text = re.sub(r"%b\b", "%a", permuted((33, 20), (0, 1), "f32"))
    text = text.replace("%a: memref<33x20xf32>, %a:", "%a:", 1)
    a, c = numbers(660, "f32").reshape(33, 20), numbers(660, "f32", 1).reshape(33, 20)
    expected = a + a + c
    gcg.compile(text, target="sim").f(a, c)
    np.testing.assert_array_equal(a, expected)
