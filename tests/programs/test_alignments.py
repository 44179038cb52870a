"""Calls tell what divides the addresses of arrays; vector accesses make use of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.devices import emulated_cupy as xp

LAUNCH = """
func.func @f(%a: memref<1024x{ty}>, %b: memref<1024x{ty}>) {{
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c32, %ny = %c1, %nz = %c1) {{
    %i = affine.apply affine_map<(d0) -> (d0 * {n})>(%tx)
    {body}
    gpu.terminator
  }}
  return
}}"""
PLAIN = """%v = vector.load %a[%i]{at} : memref<1024x{ty}>, vector<{n}x{ty}>
    vector.store %v, %b[%i]{at} : memref<1024x{ty}>, vector<{n}x{ty}>"""
AFFINE = """%v = affine.vector_load %a[%i] : memref<1024x{ty}>, vector<{n}x{ty}>
    affine.vector_store %v, %b[%i] : memref<1024x{ty}>, vector<{n}x{ty}>"""
ONE_ACCESS = r"\.(?:v4\.b32|v2\.b64)\b"
WHOLE = [("f32", 4), ("f16", 8), ("bf16", 8), ("i8", 16), ("f64", 2), ("i1", 16)]


def written(body: str, ty: str, n: int, at: str = "") -> str:
    return LAUNCH.format(ty=ty, n=n, body=body.format(ty=ty, n=n, at=at))


def accesses(function: Any) -> list[str]:
    """The widths of the accesses of the last kernel to global memory."""
    (text,) = function.executable().assembly().values()
    return re.findall(r"(?:ld|st)\.global(?:\.nc)?(\S*)", text)


@pytest.mark.slow
@pytest.mark.figures
@pytest.mark.cases(("ty", "n"), WHOLE)
@pytest.mark.cases(
    ("body", "at"), [(PLAIN, " alignment = 16"), (PLAIN, ""), (AFFINE, "")]
)
def test_sixteen_bytes_are_one_access(body: str, at: str, ty: str, n: int) -> None:
    """Where the text states the alignment, and where whole arrays imply it."""
    function = gcg.compile(written(body, ty, n, at), target="cuda").f
    found = accesses(function)
    assert len(found) == 2
    assert all(re.fullmatch(ONE_ACCESS, width) for width in found)


@pytest.mark.figures
def test_narrower_alignment_makes_narrower_accesses() -> None:
    text = written(PLAIN, "f32", 4)
    function = gcg.compile(text, target="sim").f
    pad = xp.asarray(np.arange(1100, dtype=np.float32))
    for start, each in ((2, ".v2.b32"), (1, ".b32"), (4, ".v4.b32")):
        out = xp.zeros((1024,), "f4")
        function(pad[start : start + 1024], out)
        assert out.get()[:128].tolist() == list(range(start, start + 128))
        loads = accesses(function)[:-1] if start != 1 else accesses(function)
        assert each in loads


DOUBLE = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %a[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %b[%i] : memref<?xf32>
  }
  return %b : memref<?xf32>
}"""


STATIC = DOUBLE.replace("?", "64")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [DOUBLE, STATIC])
@pytest.mark.parametrize("library", [np, xp])
def test_views_that_begin_anywhere(library: Any, text: str) -> None:
    function = gcg.compile(text, target="sim").f
    x = np.arange(80, dtype=np.float32)
    for first, second in ((0, 0), (1, 0), (0, 1), (2, 6), (4, 3), (4, 8), (1, 0)):
        a, b = library.asarray(x.copy()), library.zeros((80,), "f4")
        into = b[second : second + 64]
        assert function(a[first : first + 64], into) is into
        result = b if library is np else b.get()
        expected = np.zeros(80, np.float32)
        expected[second : second + 64] = 2 * x[first : first + 64]
        np.testing.assert_array_equal(result, expected)


def test_the_same_function_compiles_for_each_alignment() -> None:
    function = gcg.compile(DOUBLE, target="sim").f
    a, b = (xp.zeros((80,), "f4") for _ in "ab")
    made: list[object] = []
    for start in (0, 1, 2, 4, 3, 0):
        function(a[start : start + 64], b[start : start + 64])
        made.append(function.executable())
    assert made[0] is made[3] is made[5]
    assert made[1] is made[4]
    assert len({id(one) for one in made}) == 3


def test_host_arrays_that_share_memory_keep_their_alignment() -> None:
    text = DOUBLE.replace("%v, %v", "%v, %o").replace(
        "%w =", "%o = affine.load %c[%i] : memref<?xf32>\n    %w ="
    )
    text = text.replace("%b: memref", "%c: memref<?xf32>, %b: memref", 1)
    function = gcg.compile(text, target="sim").f
    x, b = np.arange(80, dtype=np.float32), np.zeros(64, np.float32)
    function(x[1:65], x[:64], b)
    np.testing.assert_array_equal(b, x[1:65] + x[:64])


def test_without_specialisation_alignment_is_known() -> None:
    function = gcg.compile(STATIC, target="sim", specialize=False).f
    a, b = (xp.zeros((80,), "f4") for _ in "ab")
    function(a[1:65], b[2:66])
    stated = dict(function.executable().stages)["assume-alignments"]
    assert re.findall(r"assume_alignment %\w+, (\d+)", stated) == ["4", "8"]


def test_without_a_call_arrays_are_whole_allocations() -> None:
    stages = dict(gcg.compile(STATIC, target="cuda").stages("f"))
    stated = stages["assume-alignments"]
    assert re.findall(r"assume_alignment %\w+, (\d+)", stated) == ["256", "256"]
    views = STATIC.replace("memref<64xf32>", "memref<64xf32, strided<[1], offset: ?>>")
    stages = dict(gcg.compile(views, target="cuda").stages("f"))
    assert "assume-alignments" not in stages
    assert "assume-alignments" not in dict(gcg.compile(STATIC).stages("f"))


CHAIN = """
func.func @f(%A: memref<256x512x{ty}>, %B: memref<512x256x{ty}>,
             %C: memref<256x256x{sum}>) {{
  %t = memref.alloc() : memref<256x512x{ty}>
  affine.for %i = 0 to 256 {{
    affine.for %j = 0 to 512 {{
      %v = affine.load %A[%i, %j] : memref<256x512x{ty}>
      %w = arith.{add} %v, %v : {ty}
      affine.store %w, %t[%i, %j] : memref<256x512x{ty}>
    }}
  }}
  linalg.matmul ins(%t, %B : memref<256x512x{ty}>, memref<512x256x{ty}>)
                outs(%C : memref<256x256x{sum}>)
  linalg.matmul ins(%t, %B : memref<256x512x{ty}>, memref<512x256x{ty}>)
                outs(%C : memref<256x256x{sum}>)
  return
}}"""


@pytest.mark.slow
@pytest.mark.figures
@pytest.mark.cases(
    ("ty", "out", "add"),
    [("f16", "f32", "addf"), ("f64", "f64", "addf"), ("i8", "i32", "addi")],
)
def test_arrays_of_the_program_are_whole_allocations(
    ty: str, out: str, add: str
) -> None:
    """Products read an array of the program 8 bytes at once or more."""
    text = CHAIN.format(ty=ty, sum=out, add=add)
    program = gcg.compile(text, target="cuda", arch="sm_80")
    _, *kernels = program.assembly("f").values()
    found = [
        width
        for kernel in kernels
        for width in re.findall(r"(?:ld|st)\.global(?:\.nc)?(\S*)", kernel)
    ]
    assert found
    assert all(re.fullmatch(ONE_ACCESS + r"|\.b64", width) for width in found)
