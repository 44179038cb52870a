"""Tiles of time loops on the CPU are what a caller and tuning may ask for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.checks import races as verify_kernels
from gpucodegen.passes.loops.requested_schedules import is_of_time_tiles
from gpucodegen.tiling.tuning.search import Status
from gpucodegen.tuning.schedules import Schedules, schedules

STEPS, LENGTH, HEIGHT, WIDTH = 12, 60, 70, 12

LINE = f"""func.func @f(%A: memref<{LENGTH}xf64>, %B: memref<{LENGTH}xf64>) {{
  %half = arith.constant 0.5 : f64
  affine.for %t = 0 to {STEPS} {{
    affine.for %i = 1 to {LENGTH - 1} {{
      %l = affine.load %A[%i - 1] : memref<{LENGTH}xf64>
      %r = affine.load %A[%i + 1] : memref<{LENGTH}xf64>
      %s = arith.addf %l, %r : f64
      %v = arith.mulf %s, %half : f64
      affine.store %v, %B[%i] : memref<{LENGTH}xf64>
    }}
    affine.for %i = 1 to {LENGTH - 1} {{
      %v = affine.load %B[%i] : memref<{LENGTH}xf64>
      affine.store %v, %A[%i] : memref<{LENGTH}xf64>
    }}
  }}
  return
}}"""
"""Both sweeps of a step are parallel."""
PLANE = f"""func.func @f(%T: index, %A: memref<{HEIGHT}x{WIDTH}xf64>) {{
  %half = arith.constant 0.5 : f64
  affine.for %t = 0 to %T {{
    affine.for %i = 1 to {HEIGHT} {{
      affine.for %j = 1 to {WIDTH - 1} {{
        %w = affine.load %A[%i, %j - 1] : memref<{HEIGHT}x{WIDTH}xf64>
        %n = affine.load %A[%i - 1, %j + 1] : memref<{HEIGHT}x{WIDTH}xf64>
        %s = arith.addf %w, %n : f64
        %v = arith.mulf %s, %half : f64
        affine.store %v, %A[%i, %j] : memref<{HEIGHT}x{WIDTH}xf64>
      }}
    }}
  }}
  return
}}"""
"""In place, so that no loop is parallel, and of a number of steps that a call tells."""
TURNED = f"""func.func @f(%A: memref<{LENGTH}x{LENGTH}xf64>) {{
  affine.for %i = 0 to {LENGTH} {{ affine.for %j = 0 to {LENGTH} {{
    %x = affine.load %A[%i, %j] : memref<{LENGTH}x{LENGTH}xf64>
    %y = arith.addf %x, %x : f64
    affine.store %y, %A[%i, %j] : memref<{LENGTH}x{LENGTH}xf64>
  }} }}
  return
}}"""
"""There is no time loop."""


def line(a: np.ndarray, b: np.ndarray) -> None:
    """The steps of `LINE`, whole arrays at a time."""
    for _ in range(STEPS):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = b[1:-1]


def plane(steps: int, a: np.ndarray) -> None:
    """The steps of `PLANE`, cell by cell."""
    for _ in range(steps):
        for i in range(1, HEIGHT):
            for j in range(1, WIDTH - 1):
                a[i, j] = 0.5 * (a[i, j - 1] + a[i - 1, j + 1])


@dataclass(frozen=True, slots=True)
class Stencil:
    """A text, its arguments, and what NumPy makes of them."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    computed: Callable[..., None]
    steps: tuple[int, ...] = ()

    def arguments(self) -> tuple[Any, ...]:
        random = np.random.default_rng(0)
        return (*self.steps, *map(random.random, self.shapes))

    def expected(self) -> tuple[Any, ...]:
        given = self.arguments()
        self.computed(*given)
        return given

    def left(self, **options: Any) -> tuple[Any, ...]:
        given = self.arguments()
        self.compiled(**options).f(*given)
        return given

    def compiled(self, **options: Any) -> gcg.Program:
        return gcg.compile(self.text, target="cpu", tuned=False, **options)

    def schedules(self, **options: Any) -> Schedules:
        return schedules(self.compiled(**options), "f", self.arguments())


STENCILS = {
    "line": Stencil(LINE, ((LENGTH,), (LENGTH,)), line),
    "plane": Stencil(PLANE, ((HEIGHT, WIDTH),), plane, (7,)),
    "one step": Stencil(PLANE, ((HEIGHT, WIDTH),), plane, (1,)),
}


def values(found: Schedules) -> dict[str, set[int]]:
    """What may be asked of time loops."""
    every = found.knob.values.items()
    return {name: {*sizes} for name, sizes in every if is_of_time_tiles(name)}


@pytest.mark.slow
def test_what_the_planner_compares_is_on_offer() -> None:
    assert values(STENCILS["line"].schedules(threads=2)) == {
        "time0.tiled": {0, 1, 2},
        "time0.steps": {0, 1, 2, 3, 4, 6, 8},  # two threads have a tile each
        "time0.width0": {0, 1, 2, 4, 8, 16},
    }
    assert values(STENCILS["plane"].schedules(threads=2)) == {
        "time0.tiled": {0, 1, 2},
        "time0.steps": {0, 1, 2},
        "time0.width0": {0, 32},
        "time0.width1": {0, WIDTH - 2},
    }


def test_without_time_loops_nothing_is_on_offer() -> None:
    assert values(Stencil(TURNED, ((LENGTH, LENGTH),), line).schedules()) == {}
    assert values(STENCILS["line"].schedules(time_tiles=False)) == {}


@pytest.mark.drawn(4)
@pytest.mark.slow
@pytest.mark.parametrize("options", [{"threads": 2}, {"threads": 1}, {"exact": True}])
@pytest.mark.parametrize("name", list(STENCILS))
def test_every_value_leaves_the_numbers_of_numpy(
    name: str, options: dict[str, Any]
) -> None:
    stencil = STENCILS[name]
    want = stencil.expected()
    on_offer = values(stencil.schedules(**options))
    plans = [{field: n} for field, sizes in on_offer.items() for n in sizes if n]
    assert len(plans) > 5
    for plan in plans:
        got = stencil.left(plan=plan, **options)
        for ours, theirs in zip(got, want, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=str(plan))


@pytest.mark.slow
def test_every_plan_on_offer_leaves_the_numbers_of_numpy() -> None:
    stencil = STENCILS["line"]
    want, found = stencil.expected(), stencil.schedules(threads=2)
    (menu,) = (menu for menu in found.knob.menus if menu.untiled)
    assert len(menu.points) > 20
    for plan in menu.points:
        got = stencil.left(plan=plan, threads=2)
        for ours, theirs in zip(got, want, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=str(plan))


def mapped(name: str, **plan: int) -> str:
    """The loops after the pass; the field ``x`` is ``time0.x`` of the plan."""
    asked = {f"time0.{field}": size for field, size in plan.items()}
    program = STENCILS[name].compiled(plan=asked, threads=2)
    program.f(*STENCILS[name].arguments())
    return dict(program.stages("f"))["wavefront"]


@pytest.mark.slow
def test_the_tiles_that_are_asked_for_are_made() -> None:
    as_it_is = mapped("line", tiled=1)
    assert as_it_is.count("affine.for") == 3
    tiled = mapped("line", steps=4, width0=8)
    assert "%t_tile" in tiled
    assert tiled != mapped("line", steps=4, width0=16) != mapped("line", steps=2)
    assert mapped("plane", tiled=1).count("affine.for") == 3
    assert mapped("plane", tiled=2) == mapped("plane") == mapped("plane", steps=0)


@pytest.mark.slow
@pytest.mark.cases(
    ("plan", "remedy"),
    [
        ({"time0.steps": 5}, "It may be 1, 2, 3, 4, 6, 8"),
        ({"time0.steps": 8, "time0.width0": 16}, "together"),
        ({"time1.steps": 4}, "time0.steps"),
        ({"time0.width1": 64}, "time0.width0"),
    ],
)
def test_what_no_plan_has_is_refused_with_the_values(
    plan: dict[str, int], remedy: str
) -> None:
    with pytest.raises(errors.InvalidPassOption, match="wavefront") as refused:
        STENCILS["line"].left(plan=plan, threads=2)
    assert remedy in str(refused.value)


@pytest.mark.parametrize("options", [{"tile_sizes": (8,)}, {"time_tiles": False}])
def test_options_that_leave_no_time_tiles_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidOption, match="plan"):
        STENCILS["line"].left(plan={"time0.steps": 4}, **options)


def test_tiles_that_are_asked_for_and_not_proven_are_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))  # nothing is compiled yet

    def undecided(*_: object) -> None:
        raise errors.RaceFound(buffer="%A", witness="not decided within the limit")

    monkeypatch.setattr(verify_kernels, "check_kernel", undecided)
    with pytest.raises(errors.RaceFound):
        STENCILS["line"].left(plan={"time0.steps": 4}, threads=2)


def test_a_stored_plan_that_a_shape_cannot_have_becomes_the_nearest() -> None:
    from gpucodegen.passes.framework.base import run_pipeline
    from gpucodegen.passes.framework.pipeline_text import parse_pipeline

    program = STENCILS["line"].compiled(threads=2)
    program.f(*STENCILS["line"].arguments())
    stages = program.stages("f")
    at = next(n for n, (name, _) in enumerate(stages) if name == "wavefront")
    before = gcg.parse(stages[at - 1][1])

    def made(plan: str) -> str:
        return str(run_pipeline(before, parse_pipeline(f"wavefront{{{plan}}}")))

    nearest = made("plan=[time0.steps,64,time0.width0,4],strict=false")
    assert nearest == made("plan=[time0.width0,4]") != made("")


@pytest.mark.slow
def test_the_model_ranks_what_is_tried_and_the_default_comes_once() -> None:
    found = STENCILS["line"].schedules(threads=2)
    ranked, _ = found.ranked
    *_, last = ranked
    clocks = [found.clocks(point) or 0.0 for point in ranked[2:]]
    assert clocks == sorted(clocks)
    assert any(is_of_time_tiles(name) for name, n in last.items() if n)
    chosen = {**found.default, "time0.tiled": 1}
    assert found.space.objection(chosen) == "the compiler chooses it by itself"
    other = STENCILS["plane"].schedules(threads=2)
    tiles = {**other.default, "time0.steps": 2, "tile0": 8}
    assert "without tile_sizes" in str(other.space.objection(tiles))


@pytest.mark.slow
def test_tuning_tries_time_tiles() -> None:
    given = STENCILS["line"].arguments()
    found = gcg.tune(LINE, "f", *given, trials=5, threads=2)
    tried = [
        trial
        for trial in found.trials
        if any(n for name, n in trial.point.items() if is_of_time_tiles(name))
    ]
    assert [trial.status for trial in tried] == [Status.OK] * 4


@pytest.mark.slow
def test_a_winner_is_used_in_a_new_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from gpucodegen.tuning.isolated_trials import IsolatedTrials
    from gpucodegen.tuning.paired_benchmark import PairedBenchmark

    def refuse(*_: object) -> None:
        raise TypeError("the clock is of this process")

    def seconds(_: object, point: Any) -> float:
        return 0.5 if point["time0.steps"] == 4 else 1.0

    def rounds(_: object, points: Any) -> list[list[float]]:
        return [[seconds(None, point)] * 9 for point in points]

    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(IsolatedTrials, "of", refuse)
    monkeypatch.setattr(PairedBenchmark, "seconds", seconds)
    monkeypatch.setattr(PairedBenchmark, "rounds", rounds)
    monkeypatch.setattr(PairedBenchmark, "repeated", rounds)
    given = STENCILS["line"].arguments()
    wish = {"time0.steps": 4}
    result = gcg.tune(LINE, "f", *given, candidates=[wish], threads=2)
    assert result.winner is not None
    script = (
        "import sys, numpy as np, gpucodegen as gcg\n"
        "program = gcg.compile(sys.stdin.read(), target='cpu', threads=2)\n"
        f"a, b = np.random.default_rng(0).random((2, {LENGTH}))\n"
        "program.f(a, b)\n"
        "print(dict(program.f.executable().options.plan), a.sum().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=LINE,
        capture_output=True,
        text=True,
        check=True,
    )
    a, b = np.random.default_rng(0).random((2, LENGTH))
    line(a, b)
    assert done.stdout.split("\n")[0] == f"{wish} {a.sum().hex()}"
