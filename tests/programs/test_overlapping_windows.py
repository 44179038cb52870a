"""Threads of several windows, and of windows inside: right at borders and ends."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.gpu.interior import interior_of
from gpucodegen.report.gpu.model import KernelReport
from gpucodegen.report.gpu.report import report
from gpucodegen.tiling.machine.gpu import coarsening
from tests.kernels import formulas

K = gcg.kernels

DEPTHWISE = """func.func @f(%x: memref<N1xH1xW1xf32>, %w: memref<3x3xf32>,
    %y: memref<N1xH0xW0xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to N1 {
    affine.for %i = 0 to H0 {
      affine.for %j = 0 to W0 {
        affine.store %zero, %y[%n, %i, %j] : memref<N1xH0xW0xf32>
        affine.for %k = 0 to 3 {
          affine.for %l = 0 to 3 {
            %a = affine.load %x[%n, %i + %k, %j + %l] : memref<N1xH1xW1xf32>
            %b = affine.load %w[%k, %l] : memref<3x3xf32>
            %c = affine.load %y[%n, %i, %j] : memref<N1xH0xW0xf32>
            %d = arith.mulf %a, %b : f32
            %e = arith.addf %c, %d : f32
            affine.store %e, %y[%n, %i, %j] : memref<N1xH0xW0xf32>
          }
        }
      }
    }
  }
  return
}"""


def depthwise(images: int, height: int, width: int) -> str:
    sizes = {"N1": images, "H1": height, "W1": width, "H0": height - 2, "W0": width - 2}
    text = DEPTHWISE
    for name, size in sizes.items():
        text = text.replace(name, str(size))
    return text


@pytest.fixture
def few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems are coarsened like large ones."""
    monkeypatch.setattr(coarsening, "LEAST_THREADS", 0)


@pytest.mark.usefixtures("few_threads")
@pytest.mark.sampled(4)
@pytest.mark.cases("shape", [(1, 10, 34), (2, 11, 7), (1, 3, 40), (1, 19, 33)])
def test_rows_that_share_loads_and_the_last_ones(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(s).astype("f4") for s in (shape, (3, 3)))
    y = np.zeros((shape[0], shape[1] - 2, shape[2] - 2), "f4")
    program = gcg.compile(depthwise(*shape), target="sim")
    program.f(x, w, y)
    mapped = str(dict(program.stages("f"))["map-gpu"])
    is_jammed = "affine.for %k" not in mapped.partition("else")[0]
    assert is_jammed == (shape[1] > 3)
    windows = formulas.windows(x[..., None], (3, 3), 1)[..., 0, :, :]
    right = (windows.astype("f8") * w).sum((-1, -2))
    np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-5)


def pooled(x: formulas.Array, width: int, pad: int, step: int, fill: float) -> Any:
    pads = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    wide = np.pad(x.astype("f8"), pads, constant_values=fill)
    every = np.lib.stride_tricks.sliding_window_view(wide, (width, width), (2, 3))
    return every[:, :, ::step, ::step]


@pytest.mark.slow
@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("target", ["sim", "cpu"])
@pytest.mark.cases(
    ("shape", "width", "pad", "step"),
    [
        ((1, 2, 9, 300), 3, 1, 1),  # inside and borders run apart
        ((1, 2, 7, 20), 3, 1, 1),
        ((1, 1, 12, 521), 4, 2, 2),
    ],
)
def test_padded_pools(
    target: str, shape: tuple[int, ...], width: int, pad: int, step: int
) -> None:
    x: formulas.Array = np.random.default_rng(2).standard_normal(shape).astype("f4")
    how: dict[str, Any] = {
        "strides": step,
        "padding": pad,
        "layout": "NCHW",
        "target": target,
    }
    most = pooled(x, width, pad, step, -np.inf).max((-1, -2))
    np.testing.assert_array_equal(K.max_pool2d(x, width, **how), most)
    mean = pooled(x, width, pad, step, 0).mean((-1, -2))
    np.testing.assert_allclose(K.avg_pool2d(x, width, **how), mean, 1e-5, 1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("few_threads")
def test_depthwise_convolutions_with_padding() -> None:
    rng = np.random.default_rng(2)
    x: formulas.Array = rng.standard_normal((1, 3, 9, 270))
    w: formulas.Array = rng.standard_normal((3, 1, 3, 5))
    how: dict[str, Any] = {"padding": ((1, 1), (2, 2)), "groups": 3, "layout": "NCHW"}
    found = K.conv2d(x.astype("f4"), w.astype("f4"), **how, target="sim")
    right = K.conv2d(x, w, **how, target="cpu")
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


def kernel_of(text: str) -> KernelReport:
    (kernel,) = report(text, arch="sm_90a").functions[0].kernels
    return kernel


@pytest.mark.slow
def test_large_depthwise_convolutions_reach_the_memory_on_sm_90a() -> None:
    kernel = kernel_of(depthwise(256, 514, 514))
    assert kernel.limits.binding == "device memory"
    stores = [row for row in kernel.accesses if row.direction == "store"]
    assert sum(row.requests for row in stores) <= 256 * 512 * 16  # one for a result


@pytest.mark.slow
def test_small_ones_keep_a_thread_per_result_on_sm_90a() -> None:
    kernel = kernel_of(depthwise(2, 66, 66))
    assert kernel.launch.grid == (2, 16, 1)


CARRIED = """func.func @f(%x: memref<66x64xf32>) {
  affine.for %j = 0 to 64 {
    affine.for %i = 0 to 64 {
      affine.for %k = 0 to 3 {
        %a = affine.load %x[%i + %k, %j] : memref<66x64xf32>
        affine.store %a, %x[%i, %j] : memref<66x64xf32>
      }
    }
  }
  return
}"""


@pytest.mark.usefixtures("few_threads")
def test_loops_that_carry_dependences_stay_in_order() -> None:
    x = np.random.default_rng(3).standard_normal((66, 64)).astype("f4")
    right = x.copy()
    right[:64] = x[2:66]
    gcg.compile(CARRIED, target="sim").f(x)
    np.testing.assert_array_equal(x, right)


GUARDED = """func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 5 {
      %v = affine.if affine_set<(d0, d1) : (CONDITION)>(%i, %k) -> f32 {
        %a = affine.load %x[%i] : memref<64xf32>
        affine.yield %a : f32
      } else {
        affine.yield %zero : f32
      }
      affine.store %v, %y[%i] : memref<64xf32>
    }
  }
  return
}"""


@pytest.mark.cases(
    ("condition", "limits"),
    [
        ("d0 + d1 - 2 >= 0, -d0 - d1 + 65 >= 0", ["d0 - 2", "-d0 + 61"]),
        ("d0 - d1 >= 0", ["d0 - 4"]),
        ("d0 - d1 == 0", None),
        ("(d0 + d1) mod 2 >= 0", None),
    ],
)
def test_conditions_hold_where_they_are_least(
    condition: str, limits: list[str] | None
) -> None:
    module = gcg.parse(GUARDED.replace("CONDITION", condition))
    (outer,) = (op for op in module.functions["f"].body.operations if op.regions)
    found = interior_of(outer.body.operations[:-1], {})
    assert (found and [str(limit.expr) for limit in found.limits]) == limits


def test_variables_of_parallel_loops_in_a_body_have_no_ends() -> None:
    text = GUARDED.replace(
        "affine.for %k = 0 to 5", "affine.parallel (%k) = (0) to (5)"
    )
    module = gcg.parse(text.replace("CONDITION", "d0 - d1 >= 0"))
    (outer,) = (op for op in module.functions["f"].body.operations if op.regions)
    assert interior_of(outer.body.operations[:-1], {}) is None


def test_what_a_plan_needs() -> None:
    from gpucodegen.tiling.machine.gpu.devices import DEVICES

    work = {("i", 1): (19, 40, 4), ("i", 2): (22, 72, 8), ("i", 4): (28, 136, 16)}
    plan = partial(coarsening.plan_coarsening, device=DEVICES["H200"])
    many = 1 << 24, 1 << 27
    assert plan(work, *many) == ("i", 4)
    assert plan({k: v for k, v in work.items() if k[1] == 1}, *many) is None
    crowded = {(i, n): (a, o, 99 * n) for (i, n), (a, o, _) in work.items()}
    assert plan(crowded, *many) is None
    apart = {("i", 1): (19, 40, 4), ("i", 2): (36, 78, 8)}
    assert plan(apart, *many) == ("i", 2)  # two windows wait together
    assert plan(apart, 1 << 24, 1 << 30) is None
