"""What is shown of a call is what runs: its options, arguments and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import ptx
from gpucodegen.report.calls import Call
from gpucodegen.report.explanation import explain_module
from gpucodegen.report.gpu.report import report_module
from gpucodegen.report.sizes import Sizes

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblySlow")
Launches = dict[tuple[str, tuple[int, ...], tuple[int, ...]], int]


def sides(extents: Any) -> tuple[int, ...]:
    given: list[int] = np.atleast_1d(extents).tolist()
    return (*given, 1, 1)[:3]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launches:
    """How often the emulated device launches each kernel with a grid and a block."""
    found: Launches = {}
    launch = ptx.Module.launch

    def noted(self: Any, name: str, grid: Any, block: Any, *rest: Any, **more: Any):
        key = name, sides(grid), sides(block)
        found[key] = found.get(key, 0) + 1
        return launch(self, name, grid, block, *rest, **more)

    monkeypatch.setattr(ptx.Module, "launch", noted)
    return found


def total(a: Any, out: Any) -> None:
    found = np.float32(0)
    for i in range(len(a)):
        found += a[i]
    out[0] = found


def heat(a: Any, b: Any, steps: Any) -> None:
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = (a[i - 1] + a[i] + a[i + 1]) / np.float32(3)
        for i in range(1, len(a) - 1):
            a[i] = b[i]


def reported(report: Any) -> Launches:
    kernels = report.functions[0].kernels
    return {(k.name, k.launch.grid, k.launch.block): k.launch.launches for k in kernels}


def arguments(function: Any) -> tuple[Any, ...]:
    if function is total:
        return np.ones(1 << 12, np.float32), np.zeros(1, np.float32)
    return np.ones(600, np.float32), np.zeros(600, np.float32), 6


def check(function: Any, options: dict[str, Any], launched: Launches) -> Any:
    """The report and the explanation of a call against its launches."""
    f = gcg.jit(target="sim", **options)(function)
    given = arguments(function)
    report = f.report(*given)
    shown = f.explain(*given, targets=["cuda"]).functions[0].mappings[0]
    launched.clear()
    f(*arguments(function))
    assert reported(report) == launched
    if options.get("specialize", True):
        kernels = {(k.name, k.grid, k.block) for k in shown.kernels}
        assert kernels == set(launched)
    np.testing.assert_equal(given, arguments(function))  # a report changes nothing
    assert f.source(*given) == f.program(*given).source(function.__name__)
    return report


@pytest.mark.slow
def test_a_report_is_of_the_kernels_of_the_call(launched: Launches):
    plain = check(total, {}, launched)
    several = check(total, {"reassociate": True}, launched)
    assert reported(plain) != reported(several)
    assert several.functions[0].sizes["a_size0"] == 1 << 12


@pytest.mark.slow
def test_reports_with_other_options_and_numbers(launched: Launches):
    tiled = check(heat, {}, launched)
    one_by_one = check(heat, {"time_tiles": False}, launched)
    assert reported(tiled) != reported(one_by_one)
    assert set(reported(one_by_one).values()) == {6}
    assert one_by_one.functions[0].sizes["steps"] == 6
    check(heat, {"specialize": False}, launched)
    check(total, {"exact": True}, launched)
    assert check(total, {"arch": "sm_80"}, launched).architecture == "sm_80"
    assert ".target sm_80" in str(
        gcg.jit(target="sim", arch="sm_80")(total)
        .program(*arguments(total))
        .assembly("total")
    )


STRIDED = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<?x?xf32>
      affine.store %x, %b[%i] : memref<?xf32>
    }
  }
  return
}"""


@pytest.mark.slow
def test_a_report_of_a_program_takes_a_call(launched: Launches):
    """Strides, numbers and shared memory are those of the arguments."""
    program = gcg.compile(STRIDED, target="sim")
    whole = np.arange(90 * 200, dtype=np.float32).reshape(90, 200)
    given = whole[:, ::2], np.zeros(80, np.float32), 70
    call = Call(program.f, given)
    shown = program.module, STRIDED
    report = report_module(*shown, "sm_90a", "", "f", Sizes(), {"arch": ""}, call)
    explained = explain_module(*shown, "f", Sizes(), ["cuda"], program.options, call)
    launched.clear()
    program.f(*given)
    assert reported(report) == launched
    (kernel,) = explained.functions[0].mappings[0].kernels
    ((name, _, block),) = launched
    assert (kernel.name, kernel.block) == (name, block)
    assert call.numbers == {"n": 70}
    sizes = dict(report.functions[0].sizes)
    assert sizes["n"] == 70
    assert {90, 100, 80} <= set(sizes.values())


def test_an_explanation_follows_compile_options():
    text = """func.func @f(%a: memref<4096xf32>, %s: memref<1xf32>) {
  affine.for %i = 0 to 4096 {
    %x = affine.load %a[%i] : memref<4096xf32>
    %y = affine.load %s[0] : memref<1xf32>
    %z = arith.addf %x, %y : f32
    affine.store %z, %s[0] : memref<1xf32>
  }
  return
}"""
    blocks = [
        gcg.explain(text, targets=["cuda"], options=options)
        .functions[0]
        .mappings[0]
        .kernels[0]
        .block
        for options in ({}, {"reassociate": True})
    ]
    assert blocks[0] == (1, 1, 1)
    assert blocks[1] > blocks[0]


def doubled(a: Any, n: Any) -> None:
    for i in range(n):
        a[i] = a[i] * np.float32(2)


@pytest.mark.slow
def test_a_scalar_argument_decides_the_grid_that_is_explained(launched: Launches):
    function, a = gcg.jit(doubled, target="sim"), np.ones(30_000, "f4")
    function(a, 9_000)
    ((_, grid, block),) = launched
    (kernel,) = function.explain(a, 9_000).functions[0].mappings[0].kernels
    assert (kernel.grid, kernel.block) == (grid, block)
    assert grid[0] > 1
