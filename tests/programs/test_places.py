"""Places of extreme elements, as JAX writes them, on a GPU: ties, NaN and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.compiling.targets import cuda_passes

ml_dtypes: Any = pytest.importorskip("ml_dtypes")
ARCH = "sm_90a"
TEXT = """
func.func @main(%x: tensor<SHAPExE>) -> tensor<RESTxi32> {
  %places = stablehlo.iota dim = AXIS : tensor<SHAPExi32>
  %v = stablehlo.constant dense<FIRST> : tensor<E>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %v), (%places init: %p) across dimensions = [AXIS]
    : (tensor<SHAPExE>, tensor<SHAPExi32>, tensor<E>, tensor<i32>)
    -> (tensor<RESTxE>, tensor<RESTxi32>)
   reducer(%a: tensor<E>, %b: tensor<E>) (%i: tensor<i32>, %j: tensor<i32>) {
    %more = stablehlo.compare ORDER, %a, %b, KIND : (tensor<E>, tensor<E>) -> tensor<i1>
    %nan = stablehlo.compare NE, %a, %a, KIND : (tensor<E>, tensor<E>) -> tensor<i1>
    %left = stablehlo.or %more, %nan : tensor<i1>
    %same = stablehlo.compare EQ, %a, %b, KIND : (tensor<E>, tensor<E>) -> tensor<i1>
    %before = stablehlo.compare LT, %i, %j, SIGNED
      : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %same, %before : tensor<i1>
    %keep = stablehlo.or %left, %tie : tensor<i1>
    %w = stablehlo.select %left, %a, %b : tensor<i1>, tensor<E>
    %k = stablehlo.select %keep, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %w, %k : tensor<E>, tensor<i32>
  }
  return %r#1 : tensor<RESTxi32>
}"""
KINDS: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i32": np.int32,
    "i8": np.int8,
    "ui32": np.uint32,
    "ui8": np.uint8,
}


def text(shape: tuple[int, ...], axis: int, element: str, *, is_most: bool) -> str:
    kind, rest = KINDS[element], (*shape[:axis], *shape[axis + 1 :])
    is_float = "f" in element
    bits = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000"}
    first: object = bits.get(element, "0xFFF0000000000000")
    if not is_float:
        first = int(np.iinfo(kind).min if is_most else np.iinfo(kind).max)
    elif not is_most:
        first = str(first).replace("0xF", "0x7", 1)
    words = {
        "SHAPE": "x".join(map(str, shape)),
        "REST": "x".join(map(str, rest)),
        "AXIS": axis,
        "FIRST": first,
        "ORDER": "GT" if is_most else "LT",
        "KIND": "FLOAT" if is_float else "UNSIGNED" if "u" in element else "SIGNED",
        "xE": f"x{element}",
        "<E>": f"<{element}>",
    }
    made = TEXT
    for word, value in words.items():
        made = made.replace(word, str(value))
    return made.replace("tensor<x", "tensor<")


def numbers(shape: tuple[int, ...], element: str) -> Any:
    """Few different numbers, so that ties are frequent; floats with NaN in places."""
    rng = np.random.default_rng(3)
    kind = KINDS[element]
    if "f" not in element:
        limits = np.iinfo(kind)
        return rng.choice([limits.min, limits.max, 1, 0, 2], shape).astype(kind)
    x = rng.choice([-np.inf, -3.5, -0.0, 0.0, 2.0, np.inf], shape).astype(kind)
    x[x == np.inf] = rng.choice([3.0, 1.0], (x == np.inf).sum()).astype(kind)
    return np.where(rng.random(shape) < 1e-3, np.nan, x.astype(float)).astype(kind)


CASES = [
    ((140, 75), 1, "f32"),
    ((3, 70, 33), 1, "f32"),
    ((2, 9000), 1, "f32"),
    ((500,), 0, "f32"),
    ((33, 260), 0, "f16"),
    ((7, 64), 1, "bf16"),
    ((9, 40), 1, "f64"),
    ((5, 300), 1, "i32"),
    ((9, 64), 0, "i8"),
    ((9, 64), 1, "ui32"),
    ((64, 9), 0, "ui8"),
]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.cases("shape, axis, element", CASES)
def test_the_first_place_of_the_extreme(
    shape: tuple[int, ...], axis: int, element: str
) -> None:
    x = numbers(shape, element)
    for is_most in (True, False):
        made = text(shape, axis, element, is_most=is_most)
        program = gcg.compile(made, target="sim", arch=ARCH)
        find = np.argmax if is_most else np.argmin
        wide = x.astype(float) if "f" in element else x.astype(object)
        assert np.array_equal(program.main(x), find(wide, axis))
        assert ("maxsi" in str(program.stages("main"))) == (element != "f64")


@pytest.mark.parametrize("element", ["f32", "i8"])
def test_rows_of_threads_keep_values_and_places(
    element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of elements that lie apart is one for a thread, which packs no keys."""
    monkeypatch.setattr(cuda_passes, "ROWS_OF_THREADS", 1)
    x = numbers((5, 41, 43), element)
    made = text(x.shape, 1, element, is_most=True)
    program = gcg.compile(made, target="sim", arch=ARCH)
    assert np.array_equal(program.main(x), np.argmax(x, 1))
    assert "maxsi" not in str(program.stages("main"))
    assert str(program.stages("main")[-1]).count("affine.load") == 1


OTHER_REDUCERS = [
    ("LT, %i, %j", "GT, %i, %j"),
    ("%left = stablehlo.or", "%left = stablehlo.and"),
    ("compare EQ, %a", "compare NE, %a"),
    ("compare NE, %a, %a", "compare NE, %b, %b"),
    ("select %keep, %i, %j", "select %left, %i, %j"),
    ("select %left, %a, %b", "select %left, %b, %a"),
    ("dense<0> : tensor<i32>", "dense<1> : tensor<i32>"),
    ("iota dim = 1", "iota dim = 0"),
]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.cases("old, new", OTHER_REDUCERS)
def test_other_reducers_are_left_as_they_are(old: str, new: str) -> None:
    x = numbers((5, 40), "f32")
    made = text((5, 40), 1, "f32", is_most=True).replace(old, new)
    program = gcg.compile(made, target="sim", arch=ARCH)
    want = gcg.compile(made, target="interp").main(x)
    assert np.array_equal(program.main(x), want)
    assert "maxsi" not in str(program.stages("main"))
