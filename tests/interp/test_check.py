"""gcg.check: targets against the interpreter."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.compiling.targets import Target, find, register, unregister
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import AffineMap, Const
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from tests.made.mutations import MUTATIONS

SCALE = """
func.func @scale(%a: memref<3x4xf32>, %x: f32) -> (f32, tensor<2xi8>) {
  affine.for %i = 0 to 3 { affine.for %j = 0 to 4 {
    %v = affine.load %a[%i, %j] : memref<3x4xf32>
    %w = arith.mulf %v, %x : f32
    affine.store %w, %a[%i, %j] : memref<3x4xf32>
  } }
  %t = arith.constant dense<[1, -2]> : tensor<2xi8>
  return %x, %t : f32, tensor<2xi8>
}"""


EPILOGUE = """
func.func @f(%A: memref<8x16xf32>, %B: memref<16x32xf32>, %D: memref<8x32xf32>) {
  %z = arith.constant 7.0 : f32
  %o = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<8x32xf32>
  linalg.fill ins(%o : f32) outs(%C : memref<8x32xf32>)
  linalg.matmul ins(%A, %B : memref<8x16xf32>, memref<16x32xf32>)
                outs(%C : memref<8x32xf32>)
  affine.for %i = 0 to 8 { affine.for %j = 0 to 32 {
    affine.store %z, %D[%i, %j] : memref<8x32xf32>
    %x = affine.load %C[%i, %j] : memref<8x32xf32>
    %y = arith.negf %x : f32
    affine.store %y, %D[%i, %j] : memref<8x32xf32>
  } }
  memref.dealloc %C : memref<8x32xf32>
  return
}"""
FIXED = {"dma_matmul", "dma_matmul_f16", "multiply_2019"}
"""Programs of constant shapes, or in whole tiles."""
FEWER: dict[str, dict[str, int]] = {"dma_matmul_f16": {"M": 32}}
"""Sizes that take long in the interpreter."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in FIXED)) for n in PROGRAMS]
)
@pytest.mark.sampled(3)
def test_examples_in_the_interpreter(name: str):
    program = PROGRAMS[name]
    most = 1000 if name in FIXED else 6
    small = {n: min(size, most) for n, size in program.small.items()}
    small |= FEWER.get(name, {})
    program.run(gcg.compile(program.path, target="interp")[program.entry], small)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.sampled(2)
def test_what_agrees(target: str):
    a = np.ones((3, 4), "f4")
    found = gcg.check(SCALE, a, 0.1, target=target)
    assert (found.function, found.target, found.numbers) == ("scale", target, 15)
    assert (a == 1).all()  # the caller's array stays


@pytest.fixture
def wrong():
    """A target that computes wrong: its passes turn products into sums."""
    from dataclasses import dataclass
    from typing import ClassVar

    from gpucodegen.passes.framework.base import ModulePass

    @dataclass(frozen=True, slots=True)
    class Sums(ModulePass):
        name: ClassVar[str] = "sums"

        def apply(self, module: Module) -> Module:
            def summed(op: Operation) -> list[Operation] | None:
                is_product = op.name == "arith.mulf"
                return [op.with_(name="arith.addf")] if is_product else None

            return Module(rewrite_bottom_up(module.operation, summed)[0])

    cpu = find("cpu")
    register(
        Target(
            "wrong",
            lambda options: [Sums(), *cpu.passes(options)],
            cpu.emission,
            cpu.engine,
            cpu.assembly,
            guards_accesses=True,
            version="1",
        )
    )
    yield "wrong"
    unregister("wrong")


def test_the_first_difference_is_named(wrong: str):
    a = np.full((3, 4), 2, "f4")
    a[0] = 0
    a[0, 2] = 3
    with pytest.raises(errors.ResultsDiffer) as caught:
        gcg.check(SCALE, a, 2.0, target=wrong)
    text = str(caught.value)
    assert "scale on target 'wrong': a differs at [0, 0]: 2.0" in text
    assert "the interpreter has 0.0" in text


def test_the_pass_that_changes_a_result_is_named(wrong: str):
    a = np.full((3, 4), 3, "f4")
    with pytest.raises(errors.PassChangesResults) as caught:
        gcg.check(SCALE, a, 2.0, target=wrong, each_pass=True)
    text, error = str(caught.value), caught.value
    assert "pass sums changes the results of scale on target 'wrong'" in text
    assert "a differs at [0, 0]: 5.0, the program as written has 6.0" in text
    assert re.search(r"\n-\s+%w = arith.mulf", text)
    assert re.search(r"\n\+\s+%w = arith.addf", text)
    assert "arith.mulf" in error.before
    assert "arith.mulf" not in error.after


def test_the_pass_behind_which_the_interpreter_stops_is_named(
    monkeypatch: pytest.MonkeyPatch,
):
    from gpucodegen.passes.prepare import canonicalize

    def longer(_: object, module: Module) -> Module:
        def rewrite(op: Operation) -> list[Operation] | None:
            upper = op.attributes.get("upperBoundMap")
            if upper is None or "() -> (3)" not in str(upper):
                return None
            longer = AffineMapAttr(AffineMap(0, 0, (Const(7),)))
            return [op.with_attribute("upperBoundMap", longer)]

        return Module(rewrite_bottom_up(module.operation, rewrite)[0])

    monkeypatch.setenv("GPUCODEGEN_CACHE_SIZE", "0")
    monkeypatch.setattr(canonicalize.Canonicalize, "apply", longer)
    with pytest.raises(errors.PassBreaksProgram, match="pass canonicalize breaks"):
        gcg.check(SCALE, np.ones((3, 4), "f4"), 2.0, each_pass=True)


@pytest.mark.slow
def test_the_command_checks_every_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "two.mlir"
    path.write_text(SCALE + SCALE.replace("@scale", "@other"))
    for seed in ("0", "1"):
        assert main(["check", str(path), "--seed", seed]) == 0
    told = capsys.readouterr().out
    assert told.count("15 numbers agree") == 4
    assert "after each of" in told
    mutation = MUTATIONS["sums under the place they grow in"]
    path.write_text(EPILOGUE)
    assert main(["check", str(path), "--entry", "f"]) == 0
    with mutation.applied():
        assert main(["check", str(path), "--entry", "f"]) == 1
    assert "pass map-cpu changes the results of f" in capsys.readouterr().err


def test_the_bound_is_in_places_of_the_largest_number():
    a = np.full((3, 4), 1, "f4")
    found = gcg.check(SCALE, a, 0.1, places=0)
    assert found.places == 0


def test_which_function():
    two = SCALE + SCALE.replace("@scale", "@other")
    with pytest.raises(errors.UnknownFunction, match="scale, other"):
        gcg.check(two, np.ones((3, 4), "f4"), 1.0)
    arguments = np.ones((3, 4), "f4"), 1.0
    assert gcg.check(two, *arguments, function="other").function == "other"
    assert gcg.check(gcg.compile(SCALE), *arguments).function == "scale"


LINALG = {
    "matmul": ("4x3", "3x5", "4x5", lambda a, b, c: c + a @ b),
    "batch_matmul": ("2x4x3", "2x3x5", "2x4x5", lambda a, b, c: c + a @ b),
    "matvec": ("4x3", "3", "4", lambda a, b, c: c + a @ b),
    "dot": ("6", "6", "", lambda a, b, c: c + a @ b),
    "conv_1d": ("9", "3", "7", lambda a, b, c: c + np.correlate(a, b)),
    "max": ("2x3", "2x3", "2x3", lambda a, b, _: np.maximum(a, b)),
    "sub": ("2x3", "2x3", "2x3", lambda a, b, _: a - b),
}


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split("x") if n)


@pytest.mark.cases("name", LINALG)
def test_named_operations_on_tensors(name: str):
    *shapes, want = LINALG[name]
    a, b, c = (f"tensor<{s}{'x' if s else ''}f32>" for s in shapes)
    text = f"""
    func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c} {{
      %r = linalg.{name} ins(%a, %b : {a}, {b}) outs(%c : {c}) -> {c}
      return %r : {c}
    }}"""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, _shape(s)).astype("f4") for s in shapes]
    found = gcg.compile(text, target="interp").f(*arrays)
    np.testing.assert_array_equal(found, want(*arrays))


def test_relayouts_and_softmax():
    text = """
    func.func @f(%a: tensor<5x4xf32>, %p: tensor<2x2x3x2xf32>, %s: tensor<5x4xf32>)
        -> (tensor<2x2x3x2xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
      %z = arith.constant 0.0 : f32
      %q = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1]
        inner_tiles = [3, 2] into %p : tensor<5x4xf32> -> tensor<2x2x3x2xf32>
      %u = linalg.unpack %q inner_dims_pos = [0, 1] inner_tiles = [3, 2] into %s
        : tensor<2x2x3x2xf32> -> tensor<5x4xf32>
      %m = linalg.softmax dimension(1) ins(%a : tensor<5x4xf32>)
        outs(%s : tensor<5x4xf32>) -> tensor<5x4xf32>
      return %q, %u, %m : tensor<2x2x3x2xf32>, tensor<5x4xf32>, tensor<5x4xf32>
    }"""
    a = np.arange(20, dtype="f4").reshape(5, 4) % 7
    packed, again, soft = gcg.compile(text, target="interp").f(
        a, np.zeros((2, 2, 3, 2), "f4"), np.zeros((5, 4), "f4")
    )
    padded = np.pad(a, ((0, 1), (0, 0)))
    want = padded.reshape(2, 3, 2, 2).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(packed, want)
    np.testing.assert_array_equal(again, a)
    powers = np.exp(a.astype("f8"))
    np.testing.assert_allclose(soft, powers / powers.sum(1, keepdims=True), rtol=1e-6)


def test_bodies_know_their_place():
    text = """
    func.func @f(%o: memref<3x4xindex>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}
        outs(%o : memref<3x4xindex>) {
      ^bb0(%v: index):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %t = affine.apply affine_map<(i, j) -> (10 * i + j)>(%i, %j)
        linalg.yield %t : index
      }
      return
    }"""
    out = np.zeros((3, 4), "i8")
    gcg.compile(text, target="interp").f(out)
    np.testing.assert_array_equal(out, np.add.outer(10 * np.arange(3), np.arange(4)))
