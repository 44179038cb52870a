"""What one program learnt of its calls serves the next one of the same text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors, parser
from gpucodegen.calls import function
from gpucodegen.tiling.tuning.calibration import Gain
from gpucodegen.tuning import tune as tuning
from gpucodegen.tuning.final_comparison import Finalist

TEXT = """
func.func @axpy(%x: memref<?xf32>, %y: memref<?xf32>, %a: f32, %n: i8) -> i8 {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %av = arith.mulf %a, %v : f32
    %s = arith.addf %w, %av : f32
    affine.store %s, %y[%i] : memref<?xf32>
  }
  return %n : i8
}
func.func private @outside(%x: memref<?xf32>)
"""


@pytest.fixture(autouse=True)
def parses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The texts that are parsed, beside an empty cache."""
    texts: list[str] = []
    parse = parser.parse_module

    def counted(text: str, *arguments: Any, **options: Any) -> Any:
        texts.append(text)
        return parse(text, *arguments, **options)

    monkeypatch.setattr(parser, "parse_module", counted)
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    return texts


def run(text: str = TEXT, n: int = 8, a: float = 2.0, **options: Any) -> gcg.Program:
    given: dict[str, Any] = {"target": "cpu"} | options
    program = gcg.compile(text, **given)
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    assert program.axpy(x, y, a, 200) == -56
    np.testing.assert_array_equal(y, 1 + np.float32(a) * x)
    return program


def test_a_known_call_needs_no_parser(parses: list[str]) -> None:
    run()
    program = run(a=3.0)
    run(a=-1.0)
    assert len(parses) == 1
    assert len(program.stages("axpy")) > 10
    assert program.stages("axpy") == run().stages("axpy")
    assert "axpy" in program.names
    assert "def axpy" in program.source("axpy")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "other",
    [
        {"n": 9},
        {"text": TEXT + "\n"},
        {"exact": True},
        {"threads": 1},
        {"allow_unregistered": True},
    ],
    ids=str,
)
def test_whatever_differs_is_looked_at_again(
    parses: list[str], other: dict[str, Any]
) -> None:
    run()
    run(**other)
    assert len(parses) == 2
    run(**other)
    assert len(parses) == 2


def test_the_target_of_the_environment_counts(
    parses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    monkeypatch.setenv("GPUCODEGEN_TARGET", "sim")
    assert run()["axpy"].executable().target == "sim"
    assert len(parses) == 2


@pytest.mark.slow
def test_tuning_is_noticed(parses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    x = np.ones(8, np.float32)
    won = Finalist({"tile0": 4}, Gain(2.0, 1.9, 2.1))
    monkeypatch.setattr(tuning, "final", lambda *_: (won,))
    tuning.tune(TEXT, "axpy", x, x.copy(), 1.0, 0, candidates=[[4]])
    before = len(parses)
    assert run()["axpy"].executable().options.tile_sizes == (4,)
    program = run()
    assert len(parses) == before + 1
    assert program["axpy"].executable().options.tile_sizes == (4,)
    assert "step 4" in "".join(text for _, text in program.stages("axpy"))


def test_calls_are_refused_as_ever() -> None:
    run()
    function = gcg.compile(TEXT, target="cpu").axpy
    x = np.ones(8, np.float32)
    with pytest.raises(errors.OverlappingArguments):
        function(x, x, 1.0, 0)
    with pytest.raises(errors.WrongArgumentType):
        function(x, x.copy(), 1.0, 300)
    frozen = np.ones(8, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(errors.ReadOnlyArgument):
        function(x, frozen, 1.0, 0)
    with pytest.raises(errors.ExternalFunction):
        gcg.compile(TEXT).outside(x)
    with pytest.raises(errors.UnknownFunction):
        gcg.compile(TEXT).absent(x)


def test_a_bound_call_is_remembered(parses: list[str]) -> None:
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    for times in (1, 2):
        gcg.compile(TEXT, target="cpu").axpy.bind(x, y, 1.0, 0)()
        assert y[0] == times
    assert len(parses) == 1


STATIC = """
func.func @scale(%x: memref<8xf32>, %y: memref<8xf32>, %a: f32) {
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<8xf32>
    %w = arith.mulf %v, %a : f32
    affine.store %w, %y[%i] : memref<8xf32>
  }
  return
}
"""
GROWING = """
func.func @double(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %x[%i] : memref<?xf32>
  }
  return
}
"""


def test_shapes_that_the_text_says_are_remembered(parses: list[str]) -> None:
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    for factor in (2, 3):
        gcg.compile(STATIC, target="cpu").scale(x, y, factor)
        assert y[0] == factor
    assert len(parses) == 1


TYPES = {
    "f32": 2.0,
    "memref<?xf32, affine_map<(d) -> (d floordiv 2, d mod 2)>>": np.ones(8, "f4"),
    "memref<8xf32, affine_map<(d) -> (d floordiv 2, d mod 2)>>": np.ones((4, 2), "f4"),
    "memref<?x?xf32, strided<[?, ?], offset: ?>>": np.ones((4, 6), "f4")[::2, ::-1],
    "memref<?xvector<2x4xf32>>": np.ones((3, 2, 4), "f4"),
    "tensor<?xf64>": np.ones(3),
    "memref<?xbf16>": np.ones(3, "u2"),
    "complex<f32>": 1j,
}


@pytest.mark.parametrize("ty", TYPES)
def test_any_type_of_an_argument_is_remembered(parses: list[str], ty: str) -> None:
    text = f"func.func @f(%x: {ty}, %n: i32) -> i32 {{ return %n : i32 }}"
    for number in (7, 8):
        assert gcg.compile(text, target="cpu").f(TYPES[ty], number) == number
    assert len(parses) == 1
    with pytest.raises(errors.WrongArgumentType, match="str"):
        gcg.compile(text, target="cpu").f("no", 7)


@pytest.mark.slow
def test_calls_after_too_many_shapes_are_not(
    parses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "MAX_SPECIALIZATIONS", 1)
    made = gcg.compile(GROWING, target="cpu")
    for n in (4, 5):
        made.double(np.ones(n, np.float32))
    for parsed, n in ((1, 4), (2, 5)):
        x = np.ones(n, np.float32)
        gcg.compile(GROWING, target="cpu").double(x)
        assert x[0] == 2
        assert len(parses) == parsed


def test_a_text_that_warns_is_parsed_every_time(parses: list[str]) -> None:
    old = "func.func @g(i32)"
    for times in (1, 2):
        with pytest.warns(errors.MissingVisibility) as told:
            gcg.compile(old, target="cpu")
        assert len(told) == 1
        assert len(parses) == times
