"""Orders of loops and fusions on the CPU are what tuning may ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.loops.requested_schedules import is_asked
from gpucodegen.tiling.tuning.search import Point, Space, Status
from gpucodegen.tuning.schedules import Schedules, schedules

N, M, K = 24, 40, 17
MATRIX, CUBE = f"memref<{N}x{M}xf64>", f"memref<{N}x{M}x{K}xf64>"

TWO = f"""func.func @f(%A: {MATRIX}, %B: {MATRIX}, %C: {MATRIX}) {{
  affine.for %i = 0 to {N} {{ affine.for %j = 0 to {M} {{
    %x = affine.load %A[%i, %j] : {MATRIX}
    %y = arith.addf %x, %x : f64
    affine.store %y, %B[%i, %j] : {MATRIX}
  }} }}
  affine.for %i = 0 to {N} {{ affine.for %j = 0 to {M} {{
    %x = affine.load %B[%i, %j] : {MATRIX}
    %a = affine.load %A[%i, %j] : {MATRIX}
    %y = arith.mulf %x, %a : f64
    affine.store %y, %C[%i, %j] : {MATRIX}
  }} }}
  return
}}"""
"""Neighbours that the compiler fuses."""
APART = f"""func.func @f(%A: {MATRIX}, %B: {MATRIX}, %C: {MATRIX}) {{
  affine.for %i = 0 to {N} {{ affine.for %j = 0 to {M} {{
    %x = affine.load %A[%i, %j] : {MATRIX}
    %y = arith.addf %x, %x : f64
    affine.store %y, %A[%i, %j] : {MATRIX}
  }} }}
  affine.for %i = 0 to {N} {{ affine.for %j = 0 to {M} {{
    %x = affine.load %B[%i, %j] : {MATRIX}
    %y = arith.mulf %x, %x : f64
    affine.store %y, %C[%i, %j] : {MATRIX}
  }} }}
  return
}}"""
"""Neighbours that share nothing."""
BACKWARD = APART.replace(
    f"%x = affine.load %B[%i, %j] : {MATRIX}",
    f"%x = affine.load %A[{N - 1} - %i, {M - 1} - %j] : {MATRIX}",
)
"""The second needs of the first what comes last."""
TURNED = f"""func.func @f(%A: {CUBE}, %B: {CUBE}, %C: {CUBE}) {{
  affine.for %k = 0 to {K} {{ affine.for %i = 0 to {N} {{ affine.for %j = 0 to {M} {{
    %x = affine.load %A[%i, %j, %k] : {CUBE}
    %y = arith.addf %x, %x : f64
    affine.store %y, %B[%i, %j, %k] : {CUBE}
    affine.store %x, %C[%i, %j, %k] : {CUBE}
  }} }} }}
  return
}}"""
"""Any order is legal."""
SKEWED = f"""func.func @f(%A: {MATRIX}, %B: {MATRIX}, %C: {MATRIX}) {{
  affine.for %i = 1 to {N} {{ affine.for %j = 0 to {M - 1} {{
    %x = affine.load %A[%i - 1, %j + 1] : {MATRIX}
    %y = affine.load %B[%i, %j] : {MATRIX}
    %z = arith.addf %x, %y : f64
    affine.store %z, %A[%i, %j] : {MATRIX}
  }} }}
  return
}}"""
"""No other order is legal."""
PROGRAMS = {
    "two": TWO,
    "apart": APART,
    "backward": BACKWARD,
    "turned": TURNED,
    "skewed": SKEWED,
}
VALUES = {
    "two": {"fusion0": (0, 1), "order0": (0, 21), "order1": (0, 21)},
    "apart": {"fusion0": (0, 2), "order0": (0, 21), "order1": (0, 21)},
    "backward": {"order0": (0, 21), "order1": (0, 21)},
    "turned": {"order0": (0, 123, 132, 213, 312, 321)},
    "skewed": {},
}


def arguments(name: str) -> tuple[np.ndarray, ...]:
    shape = (N, M, K) if name == "turned" else (N, M)
    random = np.random.default_rng(0)
    return tuple(random.random(shape) for _ in range(3))


def found(name: str, **options: Any) -> Schedules:
    program = gcg.compile(PROGRAMS[name], target="cpu", tuned=False, **options)
    return schedules(program, "f", arguments(name))


def left(name: str, **options: Any) -> tuple[np.ndarray, ...]:
    given = arguments(name)
    gcg.compile(PROGRAMS[name], target="cpu", tuned=False, **options).f(*given)
    return given


@pytest.mark.slow
@pytest.mark.cases("name", list(PROGRAMS))
def test_what_is_legal_is_on_offer_and_nothing_else(name: str) -> None:
    values = found(name).knob.values
    loops = {field: v for field, v in values.items() if is_asked(field)}
    assert loops == VALUES[name]
    assert {field for field in values if field.startswith("tile")} >= {"tile0", "tile1"}


@pytest.mark.drawn(6)
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_every_point_leaves_the_numbers_of_the_default(name: str, threads: int) -> None:
    every = found(name, threads=threads)
    asked = {field: v for field, v in every.knob.values.items() if is_asked(field)}

    def objection(point: Point) -> object | None:
        return every.space.objection({**every.default, **point})

    want = left(name, threads=threads)
    points = [
        {field: size for field, size in point.items() if size}
        for point in Space(asked, objection).points()
    ]
    assert len(points) >= len(VALUES[name])
    for plan in points:
        got = left(name, threads=threads, plan=plan)
        for ours, theirs in zip(got, want, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=str(plan))


@pytest.mark.slow
def test_the_order_and_the_fusion_that_are_asked_for_are_made() -> None:
    def mapped(**plan: int) -> str:
        program = gcg.compile(TWO, target="cpu", tuned=False, plan=plan)
        program.f(*arguments("two"))
        return dict(program.stages("f"))["improve-locality"]

    assert mapped().count("affine.for") == 2
    assert mapped(fusion0=1).count("affine.for") == 4
    lines = [line.split("=")[0] for line in mapped(fusion0=1, order1=21).splitlines()]
    loops = [line.split()[1] for line in lines if "affine.for" in line]
    assert [name[1] for name in loops] == ["i", "j", "j", "i"]


@pytest.mark.parametrize(
    ("name", "plan", "reason"),
    [
        ("skewed", {"order0": 21}, "is not legal"),
        ("backward", {"fusion0": 2}, "fusing the nests 0 and 1 is not legal"),
        ("two", {"order0": 132}, "2 loops are perfectly nested"),
    ],
)
def test_what_is_not_legal_is_refused_with_a_witness(
    name: str, plan: dict[str, int], reason: str
) -> None:
    with pytest.raises(errors.IllegalTransformation, match=reason):
        left(name, plan=plan)


@pytest.mark.slow
def test_fusions_that_an_order_forbids_are_illegal_points() -> None:
    plan = {"order0": 21, "fusion0": 2}
    tiled = {"order0": 21, "tile0": 8}
    given = APART, "f", *arguments("apart")
    result = gcg.tune(*given, candidates=[plan, tiled], trials=1)
    reasons = {t.reason for t in result.trials if t.status is Status.ILLEGAL}
    assert len(reasons) == 2
    assert any("fusing the nests 0 and 1 is not legal" in reason for reason in reasons)
    assert any("without exact and tile_sizes" in reason for reason in reasons)
    legal = found("apart").space
    default = dict.fromkeys(legal.dimensions, 0)
    assert legal.objection({**default, **plan}) is not None
    assert legal.objection({**default, "fusion0": 2}) is None


@pytest.mark.parametrize("plan", [{"order7": 21}, {"fusion1": 2}, {"order0": 22}])
def test_what_is_not_there_is_refused(plan: dict[str, int]) -> None:
    with pytest.raises(errors.InvalidPassOption, match="improve-locality"):
        left("two", plan=plan)


@pytest.mark.parametrize("options", [{"exact": True}, {"tile_sizes": (8, 8)}])
def test_orders_stand_in_the_place_of_tile_sizes(options: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidOption, match="plan"):
        left("two", plan={"order0": 21}, **options)


@pytest.mark.slow
def test_a_winning_order_is_used_by_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpucodegen.tuning.isolated_trials import IsolatedTrials
    from gpucodegen.tuning.paired_benchmark import PairedBenchmark

    def refuse(*_: object) -> None:
        raise TypeError("the clock is of this process")

    def seconds(_: object, point: Any) -> float:
        return 0.5 if point["order0"] == 312 else 1.0

    def rounds(_: object, points: Any) -> list[list[float]]:
        return [[seconds(None, point)] * 9 for point in points]

    monkeypatch.setattr(IsolatedTrials, "of", refuse)
    monkeypatch.setattr(PairedBenchmark, "seconds", seconds)
    monkeypatch.setattr(PairedBenchmark, "rounds", rounds)
    monkeypatch.setattr(PairedBenchmark, "repeated", rounds)
    given = arguments("turned")
    result = gcg.tune(TURNED, "f", *given, trials=60)
    assert result.winner is not None
    assert result.winner["order0"] == 312
    program = gcg.compile(TURNED, target="cpu")
    program.f(*given)
    assert dict(program.f.executable().options.plan)["order0"] == 312
    for ours, theirs in zip(given, left("turned"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
