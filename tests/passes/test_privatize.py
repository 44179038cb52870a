"""Buffers of each iteration: the same results, and loops that run in parallel."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.passes.loops.array_privatization import Privatize
from gpucodegen.tiling.machine import processor

ROWS = """func.func @f(%A: memref<64x40xf32>, %B: memref<64x40xf32>) {
  %sum = memref.alloc() : memref<f32>
  %line = memref.alloc() : memref<40xf32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.store %zero, %sum[] : memref<f32>
    affine.for %j = 0 to 40 {
      %0 = affine.load %A[%i, %j] : memref<64x40xf32>
      %1 = affine.load %sum[] : memref<f32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %sum[] : memref<f32>
      affine.store %2, %line[%j] : memref<40xf32>
    }
    affine.for %k = 0 to 40 {
      %3 = affine.load %line[39 - %k] : memref<40xf32>
      affine.store %3, %B[%i, %k] : memref<64x40xf32>
    }
  }
  memref.dealloc %sum : memref<f32>
  memref.dealloc %line : memref<40xf32>
  return
}"""


def privatised(text: str) -> str:
    return str(run_pipeline(gcg.parse(text), [Privatize()]))


def compiled(text: str, target: str) -> gcg.Program:
    return gcg.compile(privatised(text), target=target, threads=2)


def kinds(text: str) -> list[str]:
    analysis = gcg.analyze(gcg.parse(text))["f"]
    return [f"{v.loop.name} {v.kind.value}" for v in analysis.loops]


def numbers(*shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 11 - 4).astype(np.float32).reshape(shape)


def test_the_allocation_moves_into_the_loop():
    assert kinds(ROWS)[0] == "i parallel after privatisation"
    text = privatised(ROWS)
    assert kinds(text)[0] == "i parallel"
    before, _, inside = text.partition("affine.for %i")
    assert "alloc" not in before
    assert inside.count("memref.alloca") == 2
    assert "dealloc" not in inside
    assert str(gcg.parse(text)) == text


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_results_are_the_same(target: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processor, "PARALLEL_WORK", 0)
    A, B = numbers(64, 40), np.zeros((64, 40), np.float32)
    program = gcg.compile(ROWS, target=target, threads=2)
    program["f"](A, B)
    assert np.array_equal(B, np.cumsum(A, 1)[:, ::-1])
    mapped = dict(program.stages("f"))
    used = {"cpu": ("map-cpu", "affine.parallel"), "sim": ("map-gpu", "gpu.block_id")}
    stage, found = used[target]
    assert found in mapped[stage]


LAST = """func.func @f(%A: memref<{n}x4xf32>, %B: memref<{n}x4xf32>, %t: memref<4xf32>,
                      %s: memref<f32>) {{
  affine.for %i = 0 to {n} step {step} {{
    affine.for %j = 0 to 4 {{
      %0 = affine.load %A[%i, %j] : memref<{n}x4xf32>
      %1 = arith.addf %0, %0 : f32
      affine.store %1, %t[3 - %j] : memref<4xf32>
      affine.store %0, %s[] : memref<f32>
    }}
    affine.for %k = 0 to 4 {{
      %2 = affine.load %t[%k] : memref<4xf32>
      %3 = affine.load %s[] : memref<f32>
      %4 = arith.addf %2, %3 : f32
      affine.store %4, %B[%i, %k] : memref<{n}x4xf32>
    }}
  }}
  return
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(("n", "step"), [(5, 1), (12, 5), (4, 3)])
def test_the_last_iteration_leaves_its_values(n: int, step: int, target: str):
    text = LAST.format(n=n, step=step)
    assert kinds(text)[0] == "i parallel after privatisation"
    after = privatised(text)
    assert kinds(after)[0] == "i parallel"
    assert after.count("memref.copy") == 2
    A, B = numbers(n, 4), np.zeros((n, 4), np.float32)
    t, s = np.full(4, -9, np.float32), np.full((), -9, np.float32)
    compiled(text, target)["f"](A, B, t, s)
    wanted = np.zeros_like(B)
    rows = slice(None, None, step)
    wanted[rows] = 2 * A[rows, ::-1] + A[rows, 3:]
    assert np.array_equal(B, wanted)
    last = A[rows][-1]
    assert np.array_equal(t, 2 * last[::-1])
    assert s == last[3]


PASSED_ON = """func.func @f(%A: memref<6x4xf32>, %B: memref<6x4xf32>,
                  %C: memref<6x4xf32>, %t: memref<4xf32>, %s: memref<1xf32>) {
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %A[%i, %j] : memref<6x4xf32>
      affine.store %0, %t[%j] : memref<4xf32>
    }
    affine.for %j = 0 to 4 {
      %1 = affine.load %t[3 - %j] : memref<4xf32>
      affine.store %1, %B[%i, %j] : memref<6x4xf32>
    }
  }
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %2 = affine.load %B[%i, %j] : memref<6x4xf32>
      affine.store %2, %s[0] : memref<1xf32>
      %3 = affine.load %t[%j] : memref<4xf32>
      %4 = affine.load %s[0] : memref<1xf32>
      %5 = arith.addf %3, %4 : f32
      affine.store %5, %C[%i, %j] : memref<6x4xf32>
    }
  }
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %6 = affine.load %C[%i, %j] : memref<6x4xf32>
      affine.store %6, %t[3 - %j] : memref<4xf32>
    }
    affine.for %j = 0 to 4 {
      %7 = affine.load %t[%j] : memref<4xf32>
      affine.store %7, %A[%i, %j] : memref<6x4xf32>
    }
  }
  return
}"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_loops_that_pass_values_on_are_rewritten_together(target: str):
    text = privatised(PASSED_ON)
    outer = [kind for kind in kinds(text) if kind.startswith("i")]
    assert [kind.split()[1] for kind in outer] == ["parallel"] * 3
    A, B, C = numbers(6, 4), np.zeros((6, 4), np.float32), np.zeros((6, 4), np.float32)
    t, s, given = np.zeros(4, np.float32), np.zeros(1, np.float32), A.copy()
    compiled(PASSED_ON, target)["f"](A, B, C, t, s)
    assert np.array_equal(B, given[:, ::-1])
    assert np.array_equal(C, B + given[-1])
    assert np.array_equal(A, C[:, ::-1])
    assert np.array_equal(t, A[-1])
    assert s == B[-1, -1]


FIRST = """func.func @f(%A: memref<6xf32>, %B: memref<6x3xf32>) {
  %t = memref.alloc() : memref<3xf32>
  affine.for %k = 0 to 3 {
    %0 = affine.load %A[%k] : memref<6xf32>
    affine.store %0, %t[%k] : memref<3xf32>
  }
  affine.for %i = 0 to 6 {
    %1 = affine.load %A[%i] : memref<6xf32>
    affine.store %1, %t[1] : memref<3xf32>
    affine.for %j = 0 to 3 {
      %2 = affine.load %t[%j] : memref<3xf32>
      affine.store %2, %B[%i, %j] : memref<6x3xf32>
    }
  }
  memref.dealloc %t : memref<3xf32>
  return
}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_what_was_there_before_is_copied_in(target: str):
    analysis = gcg.analyze(gcg.parse(FIRST))["f"]
    assert "i: parallel after privatisation of t (copied in)" in str(analysis)
    assert kinds(privatised(FIRST))[1] == "i parallel"
    A, B = numbers(6), np.zeros((6, 3), np.float32)
    compiled(FIRST, target)["f"](A, B)
    assert np.array_equal(B, np.stack([np.full(6, A[0]), A, np.full(6, A[2])], 1))


MATMUL = """func.func @f(%A: memref<5x6xf32>, %B: memref<6x7xf32>,
                        %C: memref<5x7xf32>) {
  %s = memref.alloc() : memref<f32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 5 {
    affine.for %j = 0 to 7 {
      affine.store %zero, %s[] : memref<f32>
      affine.for %k = 0 to 6 {
        %0 = affine.load %A[%i, %k] : memref<5x6xf32>
        %1 = affine.load %B[%k, %j] : memref<6x7xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = affine.load %s[] : memref<f32>
        %4 = arith.addf %3, %2 : f32
        affine.store %4, %s[] : memref<f32>
      }
      %5 = affine.load %s[] : memref<f32>
      affine.store %5, %C[%i, %j] : memref<5x7xf32>
    }
  }
  memref.dealloc %s : memref<f32>
  return
}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_scalar_moves_into_all_loops_of_a_perfect_nest(target: str):
    assert kinds(privatised(MATMUL)) == ["i parallel", "j parallel", "k reduction"]
    A, B, C = numbers(5, 6), numbers(6, 7), np.zeros((5, 7), np.float32)
    program = compiled(MATMUL, target)
    program["f"](A, B, C)
    assert np.array_equal(C, A @ B)
    if target == "sim":
        assert "gpu.thread_id y" in dict(program.stages("f"))["map-gpu"]


def unchanged(text: str) -> bool:
    return privatised(text) == str(gcg.parse(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("memref<40xf32>", "memref<40xf32, 1>"),
        ("%zero, %sum[] : memref<f32>", "%zero, %line[0] : memref<40xf32>"),
    ],
)
def test_only_what_is_private_moves(old: str, new: str):
    assert old in ROWS
    assert unchanged(ROWS.replace(old, new))


def test_large_buffers_stay():
    assert (
        str(parse_pipeline("privatize{max_bytes=100}")[0]) == "privatize{max_bytes=100}"
    )
    module = gcg.parse(ROWS)
    small = str(run_pipeline(module, parse_pipeline("privatize{max_bytes=100}")))
    assert small == str(module)


def test_a_loop_around_a_call_stays():
    text = ROWS.replace(
        "affine.store %zero, %sum[]",
        "func.call @say(%zero) : (f32) -> ()\n    affine.store %zero, %sum[]",
    )
    assert unchanged(f"{text}\nfunc.func private @say(f32)")


def test_views_made_outside_stay_what_they_are():
    text = ROWS.replace(
        "%zero = arith",
        "%v = memref.cast %line : memref<40xf32> to memref<?xf32>\n  %zero = arith",
    ).replace("%line[39 - %k] : memref<40xf32>", "%v[39 - %k] : memref<?xf32>")
    assert unchanged(text)


def test_short_loops_stay_for_a_gpu():
    module = gcg.parse(ROWS)
    long = "privatize{min_iterations=65}"
    assert str(run_pipeline(module, parse_pipeline(long))) == str(module)
    short = LAST.format(n=5, step=1)
    A, B = numbers(5, 4), np.zeros((5, 4), np.float32)
    t, s = np.zeros(4, np.float32), np.zeros((), np.float32)
    program = gcg.compile(short, target="sim")
    program["f"](A, B, t, s)
    assert np.array_equal(B, 2 * A[:, ::-1] + A[:, 3:])
    assert "alloca" not in dict(program.stages("f"))["map-gpu"]


def test_globals_stay():
    text = ROWS.replace(
        "%line = memref.alloc() :", "%line = memref.get_global @line :"
    ).replace("  memref.dealloc %line : memref<40xf32>\n", "")
    assert unchanged(f"memref.global @line : memref<40xf32>\n{text}")


def test_arguments_that_may_overlap_stay():
    group = "{gcg.alias_group = distinct[0]<unit>}"
    text = """func.func @f(%A: memref<4xf32> GROUP, %t: memref<f32> GROUP,
                          %B: memref<4xf32>) {
      affine.for %i = 0 to 4 {
        %0 = affine.load %A[%i] : memref<4xf32>
        affine.store %0, %t[] : memref<f32>
        %1 = affine.load %t[] : memref<f32>
        affine.store %1, %B[%i] : memref<4xf32>
      }
      return
    }"""
    assert not unchanged(text.replace("GROUP", ""))
    assert unchanged(text.replace("GROUP", group))
