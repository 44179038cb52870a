"""GPU kernels count with 64 bits where 32 do not reach, and with 32 elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.calls.function import Function
from gpucodegen.runtime.cuda import kernel_launch
from gpucodegen.runtime.cuda.engine import CudaEngine
from gpucodegen.runtime.host.arguments import Known

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
DOUBLE = """func.func @f(%a: {a}, %b: {b}) {{
  affine.for %i = 0 to {n} {{ affine.for %j = 0 to {m} {{
    %x = affine.load %a[%i, %j] : {a}
    %y = arith.addi %x, %x : i8
    affine.store %y, %b[%i, %j] : {b} }} }}
  return
}}"""
OPEN = """func.func @f(%a: memref<?x?xi8, strided<[?, ?]>>, %b: memref<?x?xi8>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %b, %zero : memref<?x?xi8>
  %m = memref.dim %b, %one : memref<?x?xi8>
  affine.for %i = 0 to %n { affine.for %j = 0 to %m {
    %x = affine.load %a[%i, %j] : memref<?x?xi8, strided<[?, ?]>>
    %y = arith.addi %x, %x : i8
    affine.store %y, %b[%i, %j] : memref<?x?xi8> } }
  return
}"""
PAD = """func.func @f(%a: tensor<4x{n}xi8>) -> tensor<4x{m}xi8> {{
  %zero = arith.constant 0 : i8
  %r = tensor.pad %a low[0, 1] high[0, 1] {{
  ^bb0(%i: index, %j: index): tensor.yield %zero : i8
  }} : tensor<4x{n}xi8> to tensor<4x{m}xi8>
  return %r : tensor<4x{m}xi8>
}}"""
SUM = """func.func @f(%a: tensor<{n}xi32>) -> tensor<i32> {{
  %zero = arith.constant dense<0> : tensor<i32>
  %r = linalg.reduce ins(%a : tensor<{n}xi32>) outs(%zero : tensor<i32>)
    dimensions = [0] (%x: i32, %s: i32) {{
      %t = arith.addi %x, %s : i32
      linalg.yield %t : i32 }}
  return %r : tensor<i32>
}}"""
MATMUL = """func.func @f(%a: tensor<{n}x16xf16>, %b: tensor<16x64xf16>,
    %c: tensor<{n}x64xf32>) -> tensor<{n}x64xf32> {{
  %r = linalg.matmul ins(%a, %b : tensor<{n}x16xf16>, tensor<16x64xf16>)
    outs(%c : tensor<{n}x64xf32>) -> tensor<{n}x64xf32>
  return %r : tensor<{n}x64xf32>
}}"""


def bits_of(text: str, *known: Known | None) -> set[tuple[int, bool]]:
    """Index bits of each kernel, and whether there is one with 64 bits beside it."""
    function = gcg.compile(text, target="sim").f
    assert isinstance(function, Function)
    return {
        (kernel.index_bits, bool(kernel.wide))
        for kernel in function.executable("sim", known).kernels
    }


def doubled(layout: str, n: int, m: int) -> str:
    a = f"memref<{n}x{m}xi8{layout}>"
    return DOUBLE.format(a=a, b="memref<4x64xi8>", n=4, m=64)


@pytest.mark.slow
def test_static_extents_decide_the_width():
    big, small = 1 << 31, 1 << 12
    for n, wanted in ((small, {(32, False)}), (big, {(64, False)})):
        assert bits_of(doubled("", 4, n), None, None) == wanted
        assert bits_of(doubled(f", strided<[{n}, 1]>", 4, 64), None, None) == wanted
        assert bits_of(PAD.format(n=n, m=n + 2), None) == wanted


@pytest.mark.slow
def test_static_extents_of_sums_and_products():
    for n, wanted in ((1 << 12, {(32, False)}), (1 << 31, {(64, False)})):
        assert bits_of(SUM.format(n=n), None) >= wanted  # and sums of the blocks' sums
        assert bits_of(MATMUL.format(n=n >> 5), None, None, None) == wanted


def test_known_extents_of_a_call_decide_the_width():
    assert bits_of(OPEN, None, None) == {(32, True)}
    for n, wanted in ((64, {(32, False)}), (1 << 30, {(64, False)})):
        known = Known((4, n), (n, 1)), Known((4, n), (n, 1))
        assert bits_of(OPEN, *known) == wanted


def test_both_widths_have_the_offsets_that_they_name():
    function = gcg.compile(OPEN, target="sim").f
    (kernel,) = function.executable("sim", (None, None)).kernels
    wide = kernel.with_wide_indices()
    assert wide
    for found, bits, other in ((kernel, 32, 64), (wide, 64, 32)):
        assert f"int{bits}(" in found.source
        assert f"int{other}(" not in found.source
    assert {p.dtype for p in wide.params if p.kind == "scalar"} == {"i64"}


@pytest.fixture
def few_indices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Launches take wide kernels from 100 elements on; the names of these."""
    taken: list[str] = []
    wide = CudaEngine._wide

    def noted(engine: CudaEngine, spec: object) -> object:
        taken.append(spec.name)  # type: ignore[attr-defined]
        return wide(engine, spec)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel_launch, "MAX_OFFSET", 100)
    monkeypatch.setattr(CudaEngine, "_wide", noted)
    return taken


@pytest.mark.slow
def test_launches_choose_the_width(few_indices: list[str]):
    function = gcg.compile(OPEN, target="sim", specialize=False).f
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (30, 40), (3, 5), (300, 3)):
        a = rng.integers(-9, 9, shape).astype("i1")
        for source in (a, np.broadcast_to(a[:, :1], shape), a[::-1, ::-1]):
            before, b = len(few_indices), np.zeros(shape, "i1")
            for _ in range(3):
                function(source, b)
            assert np.array_equal(b, source + source)
            assert (len(few_indices) > before) == (a.size > 100)


@pytest.mark.slow
def test_a_package_takes_both_widths_along(tmp_path: Path):
    program = gcg.compile(OPEN, target="sim")
    program.export(tmp_path / "doubling")
    made = [file.name for file in tmp_path.rglob("*.ptx")]
    assert any("_wide" in name for name in made)
    assert any("_wide" not in name for name in made)


@pytest.mark.slow
def test_elements_beyond_32_bits():
    far = 3 << 29
    base = np.zeros(far + (1 << 30) + 64, "i1")
    view = np.lib.stride_tricks.as_strided(base, (2, 64), (far + (1 << 30), 1))
    view[...] = np.arange(128).reshape(2, 64) - 64
    for target in ("cpu", "sim"):
        b = np.zeros((2, 64), "i1")
        gcg.compile(OPEN, target=target).f(view, b)
        assert np.array_equal(b, view + view)
