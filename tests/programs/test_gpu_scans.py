"""Scans on the emulated device: along any axis, inclusive and exclusive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen import kernels as k


def scan_text(
    shape: tuple[int | str, ...],
    axis: int,
    operation: str,
    start: str,
    *,
    inclusive: bool = True,
    layout: str = "",
) -> str:
    """What an operation of arith makes of all elements up to each, or before it."""
    name, element = operation.split(" ", 1)
    element, _, flags = element.partition(" ")
    ty = f"memref<{'x'.join(map(str, shape))}x{element}{layout}>"
    ivs = [f"%i{n}" for n in range(len(shape))]
    at = ", ".join(ivs)
    outer = [n for n in range(len(shape)) if n != axis]
    dims = "\n".join(
        f"%c{n} = arith.constant {n} : index %n{n} = memref.dim %x, %c{n} : {ty}"
        for n in range(len(shape))
    )
    loops = "\n".join(f"affine.for {ivs[n]} = 0 to %n{n} {{" for n in outer)
    return f"""func.func @f(%x: {ty}, %y: {ty}) {{
  %first = arith.constant {start} : {element}
  {dims}
  {loops}
  %last = affine.for {ivs[axis]} = 0 to %n{axis}
      iter_args(%t = %first) -> ({element}) {{
    %v = affine.load %x[{at}] : {ty}
    %s = arith.{name} %t, %v {flags} : {element}
    affine.store {"%s" if inclusive else "%t"}, %y[{at}] : {ty}
    affine.yield %s : {element}
  }}
  {"}" * len(outer)}
  return
}}"""


def exclusive(
    made: np.ndarray[Any, Any], axis: int, start: Any
) -> np.ndarray[Any, Any]:
    """What is before each of what is made up to each."""
    first = np.full_like(np.take(made, [0], axis), start)
    return np.concatenate([first, np.delete(made, -1, axis)], axis)


SHAPES = [(70, 100), (33, 37), (1, 1), (3, 5000), (500, 3), (64, 256), (0, 5), (5, 0)]


@pytest.mark.drawn(15)
@pytest.mark.sampled(16)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("inclusive", [True, False])
def test_sums_along_any_axis(
    shape: tuple[int, int], axis: int, inclusive: bool
) -> None:
    x = np.random.default_rng(0).integers(-99, 99, shape).astype("i4")
    y = np.zeros_like(x)
    text = scan_text(shape, axis, "addi i32", "7", inclusive=inclusive)
    gcg.compile(text, target="sim").f(x, y)
    expected = np.cumsum(x, axis, dtype="i4") + 7
    if not inclusive and x.size:
        expected = exclusive(expected, axis, 7)
    np.testing.assert_array_equal(y, expected)


Operation = tuple[str, str, Callable[..., Any]]
OPERATIONS: dict[str, Operation] = {
    "addi i8": ("i1", "0", np.add),
    "muli i64": ("i8", "1", np.multiply),
    "maxsi i16": ("i2", "-300", np.maximum),
    "minui i32": ("u4", "-1", np.minimum),
    "xori i32": ("i4", "0", np.bitwise_xor),
    "maximumf f32": ("f4", "0xFF800000", np.maximum),
    "minnumf f64": ("f8", "1.0e300", np.fmin),
    "addf f32 fastmath<reassoc>": ("f4", "0.0", np.add),
    "addf f16 fastmath<reassoc>": ("f2", "0.0", np.add),
    "mulf f64 fastmath<reassoc>": ("f8", "1.0", np.multiply),
}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("shape", [(20, 64), (2, 1400)])
@pytest.mark.parametrize("axis", [0, 1])
def test_operations_and_types(
    operation: str, shape: tuple[int, int], axis: int
) -> None:
    kind, start, combine = OPERATIONS[operation]
    x = np.random.default_rng(0).integers(0, 2, shape).astype(kind)
    if "max" in operation or "min" in operation:
        x = np.random.default_rng(0).integers(0, 99, shape).astype(kind)
    if operation.startswith("max") and kind[0] == "f":
        x[0, 30] = np.nan
    y = np.zeros_like(x)
    gcg.compile(scan_text(shape, axis, operation, start), target="sim").f(x, y)
    np.testing.assert_array_equal(y, combine.accumulate(x, axis, dtype=kind))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [4000, 30001, 200003])
def test_one_long_row_is_scanned_in_parts(size: int) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (1, size)).astype("i4")
    y = np.zeros_like(x)
    program = gcg.compile(scan_text(x.shape, 1, "addi i32", "0"), target="sim")
    program.f(x, y)
    np.testing.assert_array_equal(y, np.cumsum(x, 1, dtype="i4"))
    assert len(program.f.executable().kernels) == (1 if size == 4000 else 3)


@pytest.mark.slow
def test_few_columns_are_scanned_in_parts() -> None:
    x = np.random.default_rng(0).integers(-9, 9, (3000, 5)).astype("i4")
    y = np.zeros_like(x)
    program = gcg.compile(scan_text(x.shape, 0, "addi i32", "0"), target="sim")
    program.f(x, y)
    np.testing.assert_array_equal(y, np.cumsum(x, 0, dtype="i4"))
    assert len(program.f.executable().kernels) == 3


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", [0, 1])
def test_in_place_strided_reversed_and_unaligned(axis: int) -> None:
    layout = ", strided<[?, ?], offset: ?>"
    text = scan_text(("?", "?"), axis, "addi i32", "0", layout=layout)
    program = gcg.compile(text, target="sim")
    whole = np.random.default_rng(0).integers(-9, 9, (40, 64)).astype("i4")
    for at in (np.s_[::-1, ::2], np.s_[1:, 3:], np.s_[:, ::-1], np.s_[:33, 5:38]):
        x = whole[at]
        y = np.zeros_like(whole)[at]
        program.f(x, y)
        np.testing.assert_array_equal(y, np.cumsum(x, axis, dtype="i4"))
    same = "func.func @f(%x: T) {" + text.partition("{")[2].replace("%y", "%x")
    ty = text.partition("%x: ")[2].partition(", %y")[0]
    x = whole.copy()
    gcg.compile(same.replace("T)", f"{ty})", 1), target="sim").f(x)
    np.testing.assert_array_equal(x, np.cumsum(whole, axis, dtype="i4"))


@pytest.mark.slow
def test_order_stays_unless_it_is_free_and_long_scans_are_told_of() -> None:
    x = np.random.default_rng(0).random((3, 4100)).astype("f4")
    text, y = scan_text(x.shape, 1, "addf f32", "0.0"), np.zeros_like(x)
    with pytest.warns(errors.PossiblySlow, match="reassociate=True"):
        gcg.compile(text, target="sim").f(x, y)
    np.testing.assert_array_equal(y, np.cumsum(x, 1, dtype="f4"))
    gcg.compile(text, target="sim", reassociate=True).f(x, y)
    np.testing.assert_allclose(y, np.cumsum(x, 1, dtype="f8"), rtol=1e-5)


TWO = """func.func @f(%x: memref<9x90xi32>, %y: memref<9x90xi32>, %z: memref<9x90xi32>,
                      %e: memref<9xi32>) {
  %zero = arith.constant 0 : i32
  %least = arith.constant -2147483648 : i32
  affine.for %i = 0 to 9 {
    %s, %m = affine.for %j = 0 to 90 iter_args(%p = %zero, %q = %least) -> (i32, i32) {
      %v = affine.load %x[%i, %j] : memref<9x90xi32>
      %w = arith.muli %v, %v : i32
      %a = arith.addi %p, %w : i32
      %b = arith.maxsi %q, %v : i32
      %c = arith.subi %a, %q : i32
      affine.store %c, %y[%i, %j] : memref<9x90xi32>
      affine.store %b, %z[%i, %j] : memref<9x90xi32>
      affine.yield %a, %b : i32, i32
    }
    affine.for %j = 0 to 90 {
      %v = affine.load %z[%i, 89 - %j] : memref<9x90xi32>
      %w = affine.load %y[%i, %j] : memref<9x90xi32>
      %a = arith.addi %v, %w : i32
      affine.store %a, %y[%i, %j] : memref<9x90xi32>
    }
    affine.store %s, %e[%i] : memref<9xi32>
  }
  return
}"""


@pytest.mark.slow
def test_two_totals_what_is_made_of_them_and_what_reads_it() -> None:
    x = np.random.default_rng(0).integers(-99, 99, (9, 90)).astype("i4")
    y, z, e = np.zeros_like(x), np.zeros_like(x), np.zeros(9, "i4")
    gcg.compile(TWO, target="sim").f(x, y, z, e)
    sums, most = np.cumsum(x * x, 1, dtype="i4"), np.maximum.accumulate(x, 1)
    before = np.concatenate([np.full((9, 1), -(1 << 31), "i4"), most[:, :-1]], 1)
    np.testing.assert_array_equal(z, most)
    np.testing.assert_array_equal(y, sums - before + most[:, ::-1])
    np.testing.assert_array_equal(e, sums[:, -1])


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_ready_made_sums_and_products_up_to_each_element(axis: int | None) -> None:
    x = np.random.default_rng(0).integers(1, 3, (12, 40)).astype("i4")
    np.testing.assert_array_equal(k.cumsum(x, axis, target="sim"), np.cumsum(x, axis))
    np.testing.assert_array_equal(k.cumprod(x, axis, target="sim"), np.cumprod(x, axis))
