"""The tuner: its knobs are the compiler's, and it never makes a program slower."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.tuned_schedules import tuning_identity, with_point
from gpucodegen.options import Options
from gpucodegen.tiling.tuning.search import REGISTER_TILE, Status, is_tile
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.paired_benchmark import PairedBenchmark
from gpucodegen.tuning.schedules import schedules

Point = Mapping[str, int]

DIAGONAL = """func.func @diagonal(%A: memref<200x200xf32>) {
  affine.for %i = 0 to 199 {
    affine.for %j = 1 to 200 {
      %x = affine.load %A[%i + 1, %j - 1] : memref<200x200xf32>
      affine.store %x, %A[%i, %j] : memref<200x200xf32>
    }
  }
  return
}"""

TRANSPOSE = """func.func @transpose(%A: memref<?x?xf64>, %B: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?x?xf64>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %n {
      %x = affine.load %A[%i, %j] : memref<?x?xf64>
      affine.store %x, %B[%j, %i] : memref<?x?xf64>
    }
  }
  return
}"""

SCALED = """func.func @scaled(
    %A: memref<64x64xf32>, %B: memref<64x64xf32>, %C: memref<64x64xf32>) {
  %scale = arith.constant 1.5 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %a = affine.load %A[%i, %k] : memref<64x64xf32>
        %b = affine.load %B[%k, %j] : memref<64x64xf32>
        %c = affine.load %C[%i, %j] : memref<64x64xf32>
        %ab = arith.mulf %a, %b : f32
        %scaled = arith.mulf %scale, %ab : f32
        %sum = arith.addf %c, %scaled : f32
        affine.store %sum, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}"""

BRANCH = """func.func @branch(%A: memref<8x64xf32>, %wanted: i1) {
  %one = arith.constant 1.0 : f32
  cf.cond_br %wanted, ^fill, ^end
^fill:
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 64 {
      affine.store %one, %A[%i, %j] : memref<8x64xf32>
    }
  }
  cf.br ^end
^end:
  return
}"""


FILL = """func.func @fill(%A: memref<?x?xf64, strided<[?, ?]>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : memref<?x?xf64, strided<[?, ?]>>
  %m = memref.dim %A, %c1 : memref<?x?xf64, strided<[?, ?]>>
  %one = arith.constant 1.0 : f64
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      affine.store %one, %A[%i, %j] : memref<?x?xf64, strided<[?, ?]>>
    }
  }
  return
}"""


@pytest.fixture
def matrices() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).random((64, 64)), np.zeros((64, 64))


@pytest.fixture
def products() -> tuple[np.ndarray, ...]:
    return tuple(np.ones((64, 64), np.float32) for _ in range(3))


Clock = Callable[[Point], float]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the seconds that points take, alone and in the final."""

    def use(alone: Clock, final: Clock | None = None) -> None:
        def rounds(_: PairedBenchmark, points: list[Point]) -> list[list[float]]:
            return [[(final or alone)(point)] * 9 for point in points]

        def refuse(*_: object) -> None:
            raise TypeError("the clock is of this process")

        monkeypatch.setattr(IsolatedTrials, "of", refuse)
        monkeypatch.setattr(PairedBenchmark, "seconds", lambda _, point: alone(point))
        monkeypatch.setattr(PairedBenchmark, "rounds", rounds)
        monkeypatch.setattr(PairedBenchmark, "repeated", rounds)

    return use


def faster(sizes: tuple[int, ...]) -> Clock:
    """A point of these sizes takes half the time of all others."""

    def clock(point: Point) -> float:
        names = [n for n in point if is_tile(n) or n in REGISTER_TILE]
        given = tuple(point[name] for name in names)
        asks = sum(point.values()) - sum(given)
        return 0.5 if given == sizes and not asks else 1.0

    return clock


def sizes_used(text: str, name: str, *arguments: object, **options: Any) -> object:
    program = gcg.compile(text, **{"target": "cpu", **options})
    program[name](*arguments)
    used = program[name].executable().options
    return used.tile_sizes or used.register_tile


@pytest.mark.slow
def test_an_illegal_candidate_is_refused_with_a_witness() -> None:
    a = np.zeros((200, 200), "f4")
    result = gcg.tune(DIAGONAL, "diagonal", a, candidates=[(16, 16), (16,)])
    default, illegal, legal = result.trials
    assert default.point == result.default == dict.fromkeys(default.point, 0)
    assert default.point.keys() >= {"tile0", "tile1"}
    assert (default.status, legal.status) == (Status.OK, Status.OK)
    assert illegal.status is Status.ILLEGAL
    assert illegal.seconds is None
    assert "A[" in illegal.reason
    with pytest.raises(errors.IllegalTransformation) as refused:
        gcg.compile(DIAGONAL, target="cpu", tile_sizes=(16, 16)).diagonal(a)
    assert illegal.reason == refused.value.message


def test_sizes_that_compile_are_legal_candidates(
    matrices: tuple[np.ndarray, np.ndarray], timed: Callable[..., None]
) -> None:
    a, b = matrices
    gcg.compile(TRANSPOSE, target="cpu", tile_sizes=(4, 4, 4)).transpose(a, b)
    assert np.array_equal(b, a.T)
    timed(faster((4, 4, 4)))
    result = gcg.tune(TRANSPOSE, "transpose", a, b, candidates=[(4, 4, 4)])
    assert result.trials[1].status is Status.OK
    assert sizes_used(TRANSPOSE, "transpose", a, b) == (4, 4, 4)


@pytest.mark.slow
def test_the_winner_is_used_by_compile_and_survives_the_process(
    matrices: tuple[np.ndarray, np.ndarray], timed: Callable[..., None]
) -> None:
    a, b = matrices
    timed(faster((8, 16)))
    result = gcg.tune(TRANSPOSE, "transpose", a, b, candidates=[(8, 8), (8, 16)])
    assert result.winner == {"tile0": 8, "tile1": 16, "order0": 0}
    assert result.best is not None
    assert result.best.point == result.winner
    assert result.gain == 2.0
    script = (
        "import sys, numpy as np, gpucodegen as gcg\n"
        "program = gcg.compile(sys.stdin.read(), target='cpu')\n"
        "a = np.zeros((64, 64)); program.transpose(a, a.copy())\n"
        "names = [name for name, _ in program.stages('transpose')]\n"
        "print('tile' in names, program.transpose.executable().options.tile_sizes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=TRANSPOSE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[0] == "True (8, 16)"


@pytest.mark.slow
def test_only_what_the_final_proves_is_stored(
    matrices: tuple[np.ndarray, np.ndarray],
    timed: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))

    def tuned(alone: Clock, final: Clock) -> object:
        timed(alone, final)
        gcg.tune(TRANSPOSE, "transpose", *matrices, candidates=[(8, 8), (16, 16)])
        return sizes_used(TRANSPOSE, "transpose", *matrices)

    assert tuned(faster((8, 8)), lambda _: 1.0) == ()
    assert tuned(faster((8, 8)), faster((16, 16))) == (16, 16)
    assert tuned(faster((8, 8)), faster((0, 0))) == ()


@pytest.mark.slow
def test_the_default_is_timed_first_and_kept_where_nothing_beats_it(
    products: tuple[np.ndarray, ...], timed: Callable[..., None]
) -> None:
    asked: list[Point] = []
    timed(lambda point: asked.append(point) or 1.0 + len(asked))
    result = gcg.tune(SCALED, "scaled", *products, trials=4, reassociate=True)
    assert asked[0] == result.default == {"rows": 0, "columns": 0, "k_block": 0}
    assert len(asked) == len(result.trials) == 4
    assert result.winner is None
    assert "nothing is faster than the default" in str(result)
    assert sizes_used(SCALED, "scaled", *products, reassociate=True) == ()


def test_what_compiles_to_a_contraction_is_never_taken_apart(
    products: tuple[np.ndarray, ...],
) -> None:
    relaxed = gcg.compile(SCALED, target="cpu", reassociate=True)
    assert schedules(relaxed, "scaled", products).knob.option == "register_tile"
    exact = gcg.compile(SCALED, target="cpu", exact=True)
    assert schedules(exact, "scaled", products).knob.option == "tile_sizes"


@pytest.mark.slow
def test_every_register_tile_of_the_space_compiles_to_the_same_sums(
    products: tuple[np.ndarray, ...],
) -> None:
    program = gcg.compile(SCALED, target="cpu", reassociate=True, tuned=False)
    knob = schedules(program, "scaled", products).knob
    assert all(0 in sizes for sizes in knob.values.values())
    largest = tuple(max(sizes) for sizes in knob.values.values())
    a, b, c = products
    gcg.compile(SCALED, target="cpu", register_tile=largest).scaled(a, b, c)
    assert np.array_equal(c, np.full((64, 64), 97.0, "f4"))


@pytest.mark.slow
def test_a_stored_register_tile_is_the_one_that_won(
    products: tuple[np.ndarray, ...], timed: Callable[..., None]
) -> None:
    timed(faster((0, 24, 16)))
    options = {"reassociate": True, "candidates": [(0, 24, 16)]}
    result = gcg.tune(SCALED, "scaled", *products, **options)
    assert result.winner == {"rows": 0, "columns": 24, "k_block": 16}
    assert sizes_used(SCALED, "scaled", *products, reassociate=True) == (0, 24, 16)


@pytest.mark.parametrize("option", ["tile_sizes", "register_tile"])
def test_points_are_read_by_names(option: str) -> None:
    count = 3 if option == "register_tile" else 12
    names = REGISTER_TILE if count == 3 else [f"tile{n}" for n in range(count)]
    sizes = tuple(range(1, count + 1))
    point = dict(sorted(zip(names, sizes, strict=True)))
    assert getattr(with_point(Options(), point), option) == sizes


@pytest.mark.slow
def test_a_function_with_branches_is_tuned(timed: Callable[..., None]) -> None:
    a = np.zeros((8, 64), np.float32)
    timed(faster((0, 16)))
    result = gcg.tune(BRANCH, "branch", a, True, trials=6)
    assert result.trials[0].point == result.default
    gcg.compile(BRANCH, target="cpu").branch(a, True)
    assert a.all()


@pytest.mark.slow
def test_a_function_without_nests_keeps_the_default() -> None:
    text = "func.func @answer() -> i32 { %a = arith.constant 42 : i32 return %a : i32 }"
    result = gcg.tune(text, "answer", trials=3)
    assert [trial.point for trial in result.trials] == [{}]
    assert result.winner is None


@pytest.mark.slow
def test_what_is_tuned_for_one_target_is_not_used_on_another(
    matrices: tuple[np.ndarray, np.ndarray], timed: Callable[..., None]
) -> None:
    timed(faster((8, 8)))
    given = TRANSPOSE, "transpose", *matrices
    gcg.tune(*given, candidates=[(8, 8)])
    assert sizes_used(*given) == (8, 8)
    assert sizes_used(*given, target="sim") == ()
    assert sizes_used(*given, exact=True) == ()


KEYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "target": {"target": "sim"},
    "exact": {"exact": True},
    "reassociate": {"reassociate": True},
    "threads": {"threads": 1},
    "time tiles": {"time_tiles": False},
    "shapes": {"specialize": False},
}


def test_the_key_holds_all_that_decides_over_the_code() -> None:
    def key(array: np.ndarray, **options: Any) -> str:
        function = gcg.compile(FILL, **{"target": "cpu", **options})["fill"]
        key = function.key_for((array,))
        return tuning_identity(function.source, "fill", key, function.options)

    a = np.zeros((64, 32))
    keys = {name: key(a, **options) for name, options in KEYS.items()}
    keys["strides"] = key(np.zeros((32, 64)).T)
    keys["extents"] = key(a[:32])
    assert len(set(keys.values())) == len(keys)
    assert key(a, verify=False) == keys["plain"]


@pytest.mark.slow
def test_what_is_tuned_for_all_shapes_is_used_for_all(
    timed: Callable[..., None],
) -> None:
    timed(faster((8, 8)))
    a = np.zeros((64, 32))
    gcg.tune(FILL, "fill", a, candidates=[(8, 8)], specialize=False)
    assert sizes_used(FILL, "fill", a[:9], specialize=False) == (8, 8)
    assert (a[:9] == 1).all()


@pytest.mark.slow
def test_tuning_keeps_the_arguments(matrices: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = matrices
    gcg.tune(TRANSPOSE, "transpose", a, b, candidates=[(16, 16)])
    assert not b.any()


def test_each_timing_begins_with_the_first_contents() -> None:
    text = """func.func @count(%x: memref<1xi32>) {
      %one = arith.constant 1 : i32
      affine.for %i = 0 to 1 {
        %v = affine.load %x[%i] : memref<1xi32>
        %w = arith.addi %v, %one : i32
        affine.store %w, %x[%i] : memref<1xi32>
      }
      return
    }"""
    x = np.zeros(1, np.int32)
    contest = PairedBenchmark.of(gcg.compile(text, target="cpu"), "count", [x])
    contest.seconds({})
    used = [int(copies[0][0]) for copies in contest.rotation.sets]
    assert (set(used) - {0}, int(x[0])) == ({1}, 0)
    contest.rounds([{}, {}])
    assert x[0] == 0
