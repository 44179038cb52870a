"""Transfers that run during the iteration before: results, structure, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lowering import apply, names

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, rewrite_bottom_up

pytestmark = pytest.mark.filterwarnings(
    "ignore::gpucodegen.errors.PossiblyOutOfBounds"  # the texts take any %n
)
TILE = 4
STREAM = """func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {{
  %c4 = arith.constant 4 : index
  {outside}
  affine.for %k = 0 to %n step 4 {{
    {inside}
    affine.dma_start %x[%k], %fast[0], %tag[0], %c4
        : memref<?xf32>, memref<4xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[0], %c4 : memref<1xi32>
    affine.for %i = 0 to 4 {{
      %v = affine.load %fast[{read}] : memref<4xf32, 2>
      %o = affine.load %{target} : memref<?xf32>
      %s = arith.addf %v, %o : f32
      affine.store %s, %{target} : memref<?xf32>
      {extra}
    }}
  }}
  {after}
  return
}}"""
BUFFERS = """%fast = memref.alloc() : memref<4xf32, 2>
    %tag = memref.alloc() : memref<1xi32>"""


def stream(**parts: str) -> str:
    """y[i] += x[k + i]: a tile of x at a time."""
    blank = {"outside": "", "inside": BUFFERS, "extra": "", "after": ""}
    return STREAM.format(**{**blank, "read": "%i", "target": "y[%i]", **parts})


OUTSIDE = stream(outside=BUFFERS, inside="")


def run(module: Module, target: str, length: int) -> None:
    x, y = np.arange(length + TILE, dtype=np.float32), np.ones(TILE, np.float32)
    gcg.compile(module, target=target).f(x, y, length)
    np.testing.assert_array_equal(y, 1 + x[:length].reshape(-1, TILE).sum(0))


@pytest.mark.slow
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_any_number_of_iterations(stages: int, trips: int) -> None:
    run(apply(f"overlap-transfers{{stages={stages}}}", stream()), "sim", trips * TILE)


@pytest.mark.slow
def test_buffers_from_outside_of_the_loop() -> None:
    run(apply("overlap-transfers{stages=4}", OUTSIDE), "sim", 7 * TILE)


@pytest.mark.slow
def test_the_cpu_runs_it_too() -> None:
    run(apply("overlap-transfers{stages=3}", stream()), "cpu", 5 * TILE)


def test_prologue_steady_state_epilogue() -> None:
    module = apply("overlap-transfers{stages=3}", stream())
    prologue, steady, epilogue = (
        op for op in module.operations[0].body.operations if op.name == "affine.for"
    )
    moves = [
        [o.name.partition("_")[2] for o in loop.walk() if "dma" in o.name]
        for loop in (prologue, steady, epilogue)
    ]
    assert moves == [["start"], ["wait", "start"], ["wait"]]
    text = str(module)
    assert "memref<3x4xf32, 2>" in text
    assert "%fast[(%k floordiv 4) mod 3, %i]" in text
    assert "%fast[((%k + 8) floordiv 4) mod 3, 0]" in text
    assert "affine.for %k = 0 to affine_map<(d0) -> (d0 - 8)>(%n) step 4" in text


MATMUL = """func.func @f(%A: memref<{m}x{k}xf32>, %B: memref<{k}x{n}xf32>,
    %C: memref<{m}x{n}xf32>) {{
  affine.for %i = 0 to {m} {{
    affine.for %j = 0 to {n} {{
      affine.for %k = 0 to {k} {{
        %a = affine.load %A[%i, %k] : memref<{m}x{k}xf32>
        %b = affine.load %B[%k, %j] : memref<{k}x{n}xf32>
        %c = affine.load %C[%i, %j] : memref<{m}x{n}xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<{m}x{n}xf32>
      }}
    }}
  }}
  return
}}"""
TILED = "tile{sizes=[4,4,4]},promote{transfers=dma},overlap-transfers"


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(8, 8, 12), (7, 6, 10)], ids=["full", "partial"])
@pytest.mark.parametrize("stages", [2, 3])
def test_a_promoted_matmul(sizes: tuple[int, int, int], stages: int) -> None:
    m, n, k = sizes
    text = MATMUL.format(m=m, n=n, k=k)
    module = apply(f"{TILED}{{stages={stages}}}", text)
    assert f"memref<{stages}x4x4xf32, 2>" in str(module)
    rng = np.random.default_rng(0)
    a, b, c = (
        rng.integers(-9, 9, s).astype(np.float32) for s in ((m, k), (k, n), (m, n))
    )
    want = c + a @ b
    gcg.compile(module, target="sim").f(a, b, c)
    np.testing.assert_array_equal(c, want)


def test_parallel_loops_keep_their_order_free() -> None:
    """Stages put iterations in order; loops that are parallel stay unless named."""
    text = stream(target="y[%k + %i]")
    assert str(apply("overlap-transfers", text)) == str(gcg.parse(text))
    assert "2x4xf32" in str(apply("overlap-transfers{loop=k}", text))


def test_other_loops_stay() -> None:
    text = MATMUL.format(m=4, n=4, k=4)
    assert names(apply("overlap-transfers", text)) == names(gcg.parse(text))


LAST = "affine.store %s, %x[%k + %i + 4] : memref<?xf32>"
CARRIED = """func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c4 = arith.constant 4 : index
  %fast = memref.alloc() : memref<8xf32, 2>
  %tag = memref.alloc() : memref<1xi32>
  affine.for %k = 0 to 64 step 4 {
    affine.dma_start %x[%k], %fast[%k mod 8], %tag[0], %c4
        : memref<64xf32>, memref<8xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[0], %c4 : memref<1xi32>
    affine.for %i = 0 to 8 {
      %v = affine.load %fast[%i] : memref<8xf32, 2>
      affine.store %v, %y[%i] : memref<64xf32>
    }
  }
  return
}"""


@pytest.mark.cases(
    ("text", "options", "reason"),
    [
        (stream(), "buffers=1", r"no wait completes a copy .*writes fast\[.*reads it"),
        (stream(), "stages=4,buffers=2", r"(no wait completes a copy|a tag is used)"),
        (stream(extra=LAST), "", r"no wait completes a copy .* x\["),
        (CARRIED, "", r"do not bring: fast\[\d\] at \(k=\d+\)"),
        (
            OUTSIDE.replace(
                "  return",
                "  %z = affine.load %fast[0] : memref<4xf32, 2>\n"
                "  affine.store %z, %y[0] : memref<?xf32>\n  return",
            ),
            "",
            "'affine.load' uses a buffer of its transfers",
        ),
    ],
    ids=["one buffer", "too few buffers", "source written", "carried", "used behind"],
)
def test_refusals_with_witness(text: str, options: str, reason: str) -> None:
    with pytest.raises(errors.IllegalTransformation) as caught:
        apply(f"overlap-transfers{{{options}}}", text)
    message = str(caught.value)
    assert "overlapping the transfers of loop %k is not legal" in message
    assert re.search(reason, message)


def test_fewer_than_two_stages_are_no_option() -> None:
    with pytest.raises(errors.InvalidPassOption, match="'stages' cannot be 1"):
        apply("overlap-transfers{stages=1}", stream())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_wait_removed_from_the_result_is_refused(target: str) -> None:
    module = apply("overlap-transfers", stream())

    def drop(op: Operation) -> list[Operation] | None:
        return [] if op.name == "affine.dma_wait" else None

    (broken,) = rewrite_bottom_up(module.operation, drop)
    program = gcg.compile(Module(broken), target=target)
    with pytest.raises(errors.TransferOvertaken, match="fast"):
        program.f(np.zeros(8, np.float32), np.zeros(4, np.float32), 8)
