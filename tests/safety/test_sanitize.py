"""Sanitized calls: what they find, where they say it is, and what they let pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main

F4, F8 = np.float32, np.float64


def ones(*shape: int, dtype: type = F4) -> np.ndarray:
    return np.ones(shape, dtype)


def function(arguments: str, body: str) -> str:
    return f"func.func @f({arguments}) {{\n{body}\n  return\n}}"


LINE = "%a: memref<4xf32>, %n: index"
OUTSIDE = {
    "load": "%v = memref.load %a[%n] : memref<4xf32>",
    "store": "%v = arith.constant 1.0 : f32\nmemref.store %v, %a[%n] : memref<4xf32>",
    "vector": "%v = vector.load %a[%n] : memref<4xf32>, vector<2xf32>",
    "update": """%v = arith.constant 1.0 : f32
      %w = memref.atomic_rmw addf %v, %a[%n] : (f32, memref<4xf32>) -> f32""",
    "view": """%c0 = arith.constant 0 : index
      %s = memref.subview %a[%n] [2] [1]
        : memref<4xf32> to memref<2xf32, strided<[1], offset: ?>>
      %v = memref.load %s[%c0] : memref<2xf32, strided<[1], offset: ?>>""",
}


@pytest.mark.cases("kind", list(OUTSIDE))
def test_accesses_outside(kind: str) -> None:
    run = gcg.compile(function(LINE, OUTSIDE[kind]), target="cpu", sanitize=True).f
    run(ones(4), 1)
    for index in (5, -1):
        with pytest.raises(errors.IndexOutOfBounds) as found:
            run(ones(4), index)
        assert found.value.place
        assert f"%n = {index}" in str(found.value)


def test_a_place_is_told_with_the_loops_around_it() -> None:
    text = function(
        "%a: memref<3x4xf32>, %at: memref<3xi64>",
        """affine.for %i = 0 to 3 {
  %k = affine.load %at[%i] : memref<3xi64>
  %j = arith.index_cast %k : i64 to index
  %v = memref.load %a[%i, %j] : memref<3x4xf32>
}""",
    )
    run = gcg.compile(text, target="cpu", sanitize=True).f
    with pytest.raises(errors.IndexOutOfBounds) as found:
        run(ones(3, 4), np.array([0, 3, 4]))
    lines = str(found.value).split("\n")
    assert lines[0].startswith("<string>:5:8: error: index (2, 4) is outside %a")
    assert lines[1].strip() == "%v = memref.load %a[%i, %j] : memref<3x4xf32>"
    assert lines[3].endswith("'memref.load' ran in the interpreter, where %i = 2")


FRESH = {
    "element": "%v = memref.load %m[%n] : memref<4xf32>",
    "vector": """%c2 = arith.constant 2 : index
      %v = vector.load %m[%c2] : memref<4xf32>, vector<2xf32>""",
    "transfer": """%c2 = arith.constant 2 : index
      %z = arith.constant 0.0 : f32
      %v = vector.transfer_read %m[%c2], %z {in_bounds = [true]}
        : memref<4xf32>, vector<2xf32>""",
    "clone": """%c = bufferization.clone %m : memref<4xf32> to memref<4xf32>
      %v = memref.load %c[%n] : memref<4xf32>""",
    "tensor": """%t = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
      %v = tensor.extract %t[%n] : tensor<4xf32>""",
    "linalg": """%b = memref.alloc() : memref<4xf32>
      linalg.exp ins(%m : memref<4xf32>) outs(%b : memref<4xf32>)""",
}


@pytest.mark.cases("kind", list(FRESH))
def test_memory_that_nothing_has_written(kind: str) -> None:
    """Only element 3 is left out; the program is right where it is written too."""
    body = """%m = memref.alloc() : memref<4xf32>
  %x = arith.constant 1.0 : f32
  affine.for %i = 0 to {end} {{ affine.store %x, %m[%i] : memref<4xf32> }}
  """
    good, bad = (body.format(end=end) + FRESH[kind] for end in (4, 3))
    gcg.compile(function("%n: index", good), target="cpu", sanitize=True).f(3)
    with pytest.raises(errors.ReadBeforeWritten, match=r"(?m)^<string>.*\[3\] is read"):
        gcg.compile(function("%n: index", bad), target="cpu", sanitize=True).f(3)


NOT_NUMBERS = {
    "0 / 0": ("f32", "%r = arith.divf %x, %y : f32", 0, 0),
    "inf - inf": ("f64", "%r = arith.subf %x, %y : f64", np.inf, np.inf),
    "half": ("f16", "%r = arith.mulf %x, %y : f16", np.inf, 0),
    "root": ("f32", "%r = math.sqrt %x : f32", -1, 0),
    "vector": (
        "f32",
        """%v = vector.from_elements %y, %x : vector<2xf32>
        %r = math.log %v : vector<2xf32>""",
        -1,
        1,
    ),
    "complex": (
        "f32",
        """%c = complex.create %x, %y : complex<f32>
        %r = complex.div %c, %c : complex<f32>""",
        0,
        0,
    ),
    "narrow": (
        "f32",
        """%v = vector.from_elements %x, %y : vector<2xf32>
        %w = arith.truncf %v : vector<2xf32> to vector<2xbf16>
        %r = arith.divf %w, %w : vector<2xbf16>""",
        1,
        0,
    ),
}
DTYPES = {"f16": np.float16, "f32": F4, "f64": F8}


@pytest.mark.cases("kind", list(NOT_NUMBERS))
def test_numbers_that_become_nan(kind: str) -> None:
    ty, body, x, y = NOT_NUMBERS[kind]
    text = function(
        f"%a: memref<2x{ty}>",
        f"""%x = affine.load %a[0] : memref<2x{ty}>
        %y = affine.load %a[1] : memref<2x{ty}>
        {body}""",
    )
    run = gcg.compile(text, target="cpu", sanitize=True).f
    run(np.array([1, 2], DTYPES[ty]))
    with pytest.raises(errors.NanMade) as found:
        run(np.array([x, y], DTYPES[ty]))
    assert found.value.place
    place = {"vector": " at [1]", "narrow": " at [1]"}.get(kind, "")
    assert f"makes NaN{place} of" in str(found.value)
    run(np.array([np.nan, 2], DTYPES[ty]))  # it was there before


SOFTMAX = """linalg.softmax dimension(1)
  ins(%a : memref<2x3xf32>) outs(%b : memref<2x3xf32>)"""


def test_operations_on_whole_buffers_make_nan() -> None:
    text = function("%a: memref<2x3xf32>, %b: memref<2x3xf32>", SOFTMAX)
    run = gcg.compile(text, target="cpu", sanitize=True).f
    a, b = ones(2, 3), ones(2, 3)
    run(a, b)
    np.testing.assert_allclose(b, 1 / 3, rtol=1e-6)
    a[1] = -np.inf
    with pytest.raises(errors.NanMade, match=r"softmax' makes NaN at \[1, 0\]"):
        run(a, b)


def test_nan_of_constants_and_choices_passes() -> None:
    text = """func.func @f(%x: f32) -> f32 {
      %nan = arith.constant 0x7FC00000 : f32
      %zero = arith.constant 0.0 : f32
      %is = arith.cmpf olt, %x, %zero : f32
      %r = arith.select %is, %nan, %x : f32
      return %r : f32
    }"""
    run = gcg.compile(text, target="cpu", sanitize=True).f
    assert np.isnan(run(-1.0))
    assert run(2.0) == 2


FREED = {
    "use": "%v = memref.load %m[%n] : memref<4xf32>",
    "copy": "%c = memref.alloc() : memref<4xf32>\n"
    "memref.copy %m, %c : memref<4xf32> to memref<4xf32>",
    "twice": "memref.dealloc %m : memref<4xf32>",
}


@pytest.mark.parametrize("kind", list(FREED))
def test_memory_that_was_given_back(kind: str) -> None:
    body = f"""%m = memref.alloc() : memref<4xf32>
      %x = arith.constant 1.0 : f32
      affine.for %i = 0 to 4 {{ affine.store %x, %m[%i] : memref<4xf32> }}
      memref.dealloc %m : memref<4xf32>
      {FREED[kind]}"""
    with pytest.raises(errors.UsedAfterDealloc, match=r"%m is .* after its dealloc"):
        gcg.compile(function("%n: index", body), target="cpu", sanitize=True).f(0)


@pytest.mark.parametrize("to", [0, 1, 4])
def test_a_copy_within_one_array(to: int) -> None:
    first, view = (f"memref<4xf32, strided<[1]{at}>>" for at in ("", ", offset: ?"))
    body = f"""%s = memref.subview %a[0] [4] [1] : memref<8xf32> to {first}
      %t = memref.subview %a[%n] [4] [1] : memref<8xf32> to {view}
      memref.copy %s, %t : {first} to {view}"""
    run = gcg.compile(function("%a: memref<8xf32>, %n: index", body), sanitize=True).f
    a = np.arange(8, dtype="f4")
    if to == 1:
        with pytest.raises(errors.OverlappingCopy, match="%s to %t, which share"):
            run(a, to)
    else:
        run(a, to)
        np.testing.assert_array_equal(a[to : to + 4], np.arange(4))


DIVIDE = """func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<4xf32>
    %y = affine.load %b[%i] : memref<4xf32>
    %z = arith.divf %x, %y : f32
    affine.store %z, %b[%i] : memref<4xf32>
  }
  return
}"""


def test_the_variable_asks_where_the_option_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUCODEGEN_SANITIZE", "1")
    zeros = np.zeros(4, F4), np.zeros(4, F4)
    for target in ("cpu", "auto", "interp"):
        with pytest.raises(errors.NanMade):
            gcg.compile(DIVIDE, target=target).f(*zeros)
    gcg.compile(DIVIDE, target="cpu", sanitize=False).f(*zeros)
    assert np.isnan(zeros[1]).all()


def test_devices_check_themselves_or_refuse() -> None:
    a, b = ones(4), 2 * ones(4)
    gcg.compile(DIVIDE, target="sim", sanitize=True).f(a, b)
    np.testing.assert_array_equal(b, 0.5)
    with pytest.raises(errors.InvalidOption, match="'cpu' or 'sim'"):
        gcg.compile(DIVIDE, target="cuda", sanitize=True)
    with pytest.raises(errors.InvalidOption, match="True or False"):
        gcg.compile(DIVIDE, sanitize=2)


def test_check_compares_compiled_code_with_a_sanitized_run() -> None:
    program = gcg.compile(DIVIDE, target="cpu", sanitize=True)
    assert program.check(ones(4), 2 * ones(4)).numbers == 8
    with pytest.raises(errors.NanMade):
        program.check(np.zeros(4, F4), np.zeros(4, F4))


def test_the_command_takes_the_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, array = tmp_path / "f.mlir", tmp_path / "a.npy"
    file.write_text(DIVIDE, "utf-8")
    np.save(array, np.zeros(4, F4))
    words = ["run", str(file), str(array), str(array), "--target", "cpu"]
    assert main(words) == 0
    assert main([*words, "--sanitize"]) == 1
    assert "makes NaN of 0.0 and 0.0" in capsys.readouterr().err
