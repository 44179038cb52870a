"""Which transfers the hardware makes: reported by the code generator, and done."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.emit.copy_plan import PlannedTransfer
from gpucodegen.runtime.devices import emulated_cupy as xp

DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


_WAY_OUT, _FROM = "%fast[0], %dst[%b * 16]", "%src[%b * 16 + %i]"


def text(
    dtype: str = "f32",
    *,
    align: int = 0,
    offset: int = 0,
    count: int = 16,
    strided: str = "",
    into: bool = True,
    extra: int = 0,
) -> str:
    """Tiles of 16 go through fast memory; only the way in or the way out is varied."""
    fast, tile = f"memref<32x{dtype}, 2>", f"memref<64x{dtype}>"
    layout = "strided<[1], offset: ?>"  # a view, which may begin anywhere
    outer = f"memref<{64 + offset + extra}x{dtype}, {layout}>"
    source = "%a" if align else "%src"
    assumed = f"%a = memref.assume_alignment %src, {align} : {outer}" if align else ""
    move = f"""
    affine.dma_start {source}[%b * 16 + {offset}], %fast[0], %tag[0], %n{strided}
        : {outer}, {fast}, memref<1xi32>
    affine.dma_wait %tag[0], %n : memref<1xi32>"""
    if not into:
        move = move.replace(f"%src[%b * 16 + {offset}], %fast[0]", _WAY_OUT)
        move = move.replace(f": {outer}, {fast}", f": {fast}, {tile}")
    ends = ("%fast[%i]", "%dst[%b * 16 + %i]") if into else (_FROM, "%fast[%i]")
    kinds = (fast, tile) if into else (outer, fast)
    compute = f"""
    affine.for %i = 0 to {count} {{
      %v = affine.load {ends[0]} : {kinds[0]}
      affine.store %v, {ends[1]} : {kinds[1]}
    }}"""
    return f"""
func.func @f(%src: {outer}, %dst: {tile}) {{
  %n = arith.constant {count} : index
  %stride = arith.constant 8 : index
  %run = arith.constant 4 : index
  {assumed}
  affine.for %b = 0 to 4 {{
    %fast = memref.alloc() : {fast}
    %tag = memref.alloc() : memref<1xi32>{move + compute if into else compute + move}
  }}
  return
}}"""


WHOLE = {
    name: text(dtype).replace(", strided<[1], offset: ?>", "")
    for name, dtype in (("f32", "f32"), ("f16", "f16"))
}
CASES: dict[str, tuple[dict[str, object], str, int, str]] = {
    "f32": ({}, "cp.async", 4, "the source is only known to be a multiple of 4 bytes"),
    "f64": ({"dtype": "f64"}, "cp.async", 8, "a multiple of 8 bytes"),
    "f16": ({"dtype": "f16"}, "copy", 2, "the source is only known to be a multiple"),
    "promised": ({"align": 16}, "cp.async", 16, "every address and length"),
    "promised f16": ({"dtype": "f16", "align": 16}, "cp.async", 16, "every address"),
    "promised by 4": ({"dtype": "f16", "align": 4}, "cp.async", 4, "of 4 bytes"),
    "offset": ({"align": 16, "offset": 2}, "cp.async", 8, "the source is only"),
    "odd offset": ({"dtype": "f16", "align": 16, "offset": 1}, "copy", 2, "2 bytes"),
    "count": ({"align": 16, "count": 14}, "cp.async", 8, "the count is 56 bytes"),
    "runs": (
        {"align": 16, "strided": ", %stride, %run", "extra": 16},
        "cp.async",
        16,
        "every address and length",
    ),
    "runs of f16": (
        {"dtype": "f16", "align": 16, "strided": ", %stride, %run", "extra": 16},
        "cp.async",
        8,
        "the run of the source is 8 bytes, no multiple of 16",
    ),
    "way out": ({"into": False}, "copy", 16, "not from shared to global"),
    "way out of 14": (
        {"into": False, "count": 14},
        "copy",
        8,
        "not from shared to global; the count is 56 bytes, no multiple of 16",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_arrays_begin_at_multiples_of_16_bytes(name: str) -> None:
    start, _ = gcg.compile(WHOLE[name], target="sim").transfers("f")
    assert (start.mechanism, start.width) == ("cp.async", 16)


def compiled(name: str) -> tuple[gcg.Program, PlannedTransfer]:
    program = gcg.compile(text(**CASES[name][0]), target="sim")
    start, wait = program.transfers("f")
    assert wait.mechanism == "wait_group"
    return program, start


@pytest.mark.sampled(2)
@pytest.mark.cases("name", CASES, parts=2)
def test_the_report_says_which_and_why(name: str) -> None:
    _, mechanism, width, reason = CASES[name]
    program, start = compiled(name)
    assert (start.mechanism, start.width) == (mechanism, width)
    assert reason in start.reason
    made = [line for line in program.source("f").splitlines() if ".dma_start(" in line]
    asked = f", {width})" if width > 2 else '")'
    assert [line.endswith(asked) for line in made] == [True]


@pytest.mark.cases("name", CASES)
@pytest.mark.sampled(6)
def test_what_is_reported_copies_the_cells(name: str) -> None:
    options = CASES[name][0]
    program, _ = compiled(name)
    dtype = DTYPES[str(options.get("dtype", "f32"))]
    offset, count = (
        int(str(options.get("offset", 0))),
        int(str(options.get("count", 16))),
    )
    extra = int(str(options.get("extra", 0)))
    memory = np.zeros(128 + 16, dtype)
    shift = -memory.ctypes.data // memory.itemsize % 16
    source = memory[shift:][: 64 + offset + extra]
    source[:] = np.arange(len(source))
    target = np.zeros(64, dtype)
    program.f(source, target)
    if "strided" in options:
        rows = np.arange(16) // 4 * 8 + np.arange(16) % 4
        want = source[np.add.outer(np.arange(4) * 16, rows)]
    else:
        want = source[offset : offset + 64].reshape(4, 16).copy()
        want[:, count:] = 0
    np.testing.assert_array_equal(target.reshape(4, 16), want)


@pytest.mark.sampled(3)
@pytest.mark.cases("name", CASES)
def test_the_hardware_is_asked_for_what_is_reported(name: str) -> None:
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    program, start = compiled(name)
    (spec,) = program["f"].executable().kernels
    ptx = compile_ptx(spec, (9, 0))
    copies = [line for line in ptx.splitlines() if "cp.async.c" in line and "[" in line]
    assert bool(copies) == (start.mechanism == "cp.async")
    assert all(f", {start.width};" in line for line in copies)


def test_a_broken_promise_is_shown_by_the_emulated_device() -> None:
    program = gcg.compile(text(align=16), target="sim")
    memory, target = xp.zeros((80,), np.float32), xp.zeros((64,), np.float32)
    program.f(memory[1:][:64], target)
    with pytest.raises(errors.MisalignedAccess, match="16"):
        target.get()


def test_on_the_cpu_and_on_the_host_nothing_is_asynchronous() -> None:
    start, wait = gcg.compile(text(), target="cpu").transfers("f")
    assert (start.mechanism, start.reason) == ("copy", "the CPU copies when it waits")
    assert wait.reason == "the elements are copied here"
    host = """func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %t: memref<1xi32>) {
  %n = arith.constant 8 : index
  affine.dma_start %x[0], %y[0], %t[0], %n
      : memref<8xf32>, memref<8xf32>, memref<1xi32>
  affine.dma_wait %t[0], %n : memref<1xi32>
  return
}"""
    start, wait = gcg.compile(host, target="sim").transfers("f")
    assert start.reason.startswith("outside of kernels the host copies")
    assert wait.what == "%t"


@pytest.mark.slow
def test_the_command_prints_it_behind_the_source() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpucodegen", "emit", "-", "--target", "cuda"],
        input=text("f16"),
        capture_output=True,
        text=True,
        check=True,
    )
    compile(done.stdout, "emitted", "exec")
    start, wait = done.stdout.splitlines()[-2:]
    assert start.startswith(("# -:", "# <stdin>:"))
    assert "dma_start %src to %fast: copy of 2 bytes; the source is only known" in start
    assert "dma_wait %tag: wait_group" in wait
