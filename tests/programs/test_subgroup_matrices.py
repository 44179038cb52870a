"""Matrices of a subgroup on the emulated device: every type, moved, changed, proven."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

STORED = {"f16": "f2", "f32": "f4", "f64": "f8", "i32": "i4", "si8": "i1", "ui8": "i1"}


def on_simulator(text: str, *arrays: np.ndarray[Any, Any]) -> None:
    gcg.compile(text, target="sim").f(*arrays)


def refused(text: str, problem: type[errors.Error], match: str) -> None:
    with pytest.raises(problem, match=match):
        gcg.compile(text, target="sim").source("f")


def launch(body: str, arguments: str, threads: int = 32, attributes: str = "") -> str:
    return f"""
    func.func @f({arguments}) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %n = arith.constant {threads} : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one)
                 threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one)
                 {attributes} {{
        {body}
        gpu.terminator
      }}
      return
    }}"""


def load(value: str, source: str, form: str, memory: str, at: str = "", how: str = ""):
    *_, leading, _ = memory.removeprefix("memref<").split(",")[0].split("x")
    indices = at or "%zero, %zero"
    return (
        f"%{value} = gpu.subgroup_mma_load_matrix %{source}[{indices}]"
        f" {{leadDimension = {leading} : index{how}}} : {memory} ->"
        f" !gpu.mma_matrix<{form}>\n"
    )


def store(value: str, target: str, form: str, memory: str, at: str = "", how: str = ""):
    *_, leading, _ = memory.removeprefix("memref<").split(",")[0].split("x")
    indices = at or "%zero, %zero"
    return (
        f"gpu.subgroup_mma_store_matrix %{value}, %{target}[{indices}]"
        f" {{leadDimension = {leading} : index{how}}} : !gpu.mma_matrix<{form}>,"
        f" {memory}\n"
    )


def multiply(m: int, n: int, k: int, factor: str, total: str) -> str:
    plain = factor.lstrip("su")
    a, b, c = f"memref<{m}x{k}x{plain}>", f"memref<{k}x{n}x{plain}>", f"{m}x{n}x{total}"
    form_a, form_b = f'{m}x{k}x{factor}, "AOp"', f'{k}x{n}x{factor}, "BOp"'
    form_c, memory_c = f'{c}, "COp"', f"memref<{c}>"
    body = (
        load("x", "a", form_a, a)
        + load("y", "b", form_b, b)
        + load("z", "c", form_c, memory_c)
        + f"%w = gpu.subgroup_mma_compute %x, %y, %z : !gpu.mma_matrix<{form_a}>,"
        f" !gpu.mma_matrix<{form_b}> -> !gpu.mma_matrix<{form_c}>\n"
        + store("w", "c", form_c, memory_c)
    )
    return launch(body, f"%a: {a}, %b: {b}, %c: {memory_c}")


def whole(shape: tuple[int, int], kind: str, seed: int) -> np.ndarray[Any, Any]:
    low = 0 if kind == "ui8" else -8
    numbers = np.random.default_rng(seed).integers(low, 9, shape)
    return numbers.astype(STORED[kind])


@pytest.mark.sampled(6)
@pytest.mark.cases(
    ("m", "n", "k", "factor", "total"),
    [
        (16, 16, 16, "f16", "f32"),
        (16, 16, 16, "f16", "f16"),
        (32, 8, 16, "f16", "f32"),
        (8, 32, 16, "f16", "f32"),
        (24, 16, 24, "f16", "f32"),
        (16, 16, 16, "si8", "i32"),
        (16, 16, 48, "ui8", "i32"),
        (16, 16, 8, "f32", "f32"),
        (16, 16, 12, "f32", "f32"),
        (8, 8, 4, "f64", "f64"),
        (16, 8, 8, "f64", "f64"),
    ],
)
def test_products(m: int, n: int, k: int, factor: str, total: str) -> None:
    a, b = whole((m, k), factor, 1), whole((k, n), factor, 2)
    c = whole((m, n), total, 3)
    right = a.astype("f8") @ b.astype("f8") + c
    on_simulator(multiply(m, n, k, factor, total), a, b, c)
    assert (c == right).all()


HALF = '16x16xf16, "AOp"', '16x16xf16, "BOp"', '16x16xf32, "COp"'
MULTIPLY = (
    "gpu.subgroup_mma_compute %x, %y, {} : !gpu.mma_matrix<{}>, !gpu.mma_matrix<{}>"
    " -> !gpu.mma_matrix<{}>\n"
)


def through_shared(barrier: str = "gpu.barrier") -> str:
    """Two warps, each with 16 rows, along K in steps that pass through shared memory.

    B is stored by its columns, the result too.
    """
    a, b, c = "memref<32x64xf16>", "memref<16x64xf16>", "memref<16x32xf32>"
    shared = "memref<32x16xf16, 3>"
    form_a, form_b, form_c = HALF
    body = f"""
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %warp = arith.divui %tx, %c32 : index
      %row = arith.muli %warp, %c16 : index
      %none = arith.constant 0.0 : f32
      %start = gpu.subgroup_mma_constant_matrix %none : !gpu.mma_matrix<{form_c}>
      %sum = scf.for %k = %zero to %c64 step %c16
          iter_args(%z = %start) -> (!gpu.mma_matrix<{form_c}>) {{
        %i = arith.divui %tx, %c16 : index
        %j = arith.remui %tx, %c16 : index
        %kj = arith.addi %k, %j : index
        affine.for %q = 0 to 8 {{
          %r = affine.apply affine_map<(d0, d1) -> (4 * d0 + d1)>(%q, %i)
          %v = memref.load %a[%r, %kj] : {a}
          memref.store %v, %s[%r, %j] : {shared}
        }}
        {barrier}
        {load("x", "s", form_a, shared, "%row, %zero")}
        {load("y", "b", form_b, b, "%zero, %k", ", transpose")}
        %w = {MULTIPLY.format("%z", form_a, form_b, form_c)}
        gpu.barrier
        scf.yield %w : !gpu.mma_matrix<{form_c}>
      }}
      %half = arith.constant 0.5 : f32
      %h = gpu.subgroup_mma_constant_matrix %half : !gpu.mma_matrix<{form_c}>
      %y = gpu.subgroup_mma_elementwise mulf %sum, %h :
        (!gpu.mma_matrix<{form_c}>, !gpu.mma_matrix<{form_c}>)
        -> !gpu.mma_matrix<{form_c}>
      {store("y", "c", form_c, c, "%zero, %row", ", transpose")}
    """
    arguments = f"%a: {a}, %b: {b}, %c: {c}"
    return launch(body, arguments, 64, f"workgroup(%s : {shared})")


@pytest.mark.slow
def test_a_product_in_steps_through_shared_memory() -> None:
    a, b = whole((32, 64), "f16", 1), whole((16, 64), "f16", 2)
    c = np.zeros((16, 32), "f4")
    on_simulator(through_shared(), a, b, c)
    assert (0.5 * (a.astype("f8") @ b.T.astype("f8")) == c.T).all()


@pytest.mark.slow
def test_warps_that_do_not_meet_are_refused() -> None:
    refused(through_shared(""), errors.RaceFound, "no barrier orders two threads")


def test_matrices_of_two_warps_overlap() -> None:
    _, _, form = HALF
    memory = "memref<32x16xf32>"
    body = load("x", "a", form, memory) + store("x", "c", form, memory)
    text = launch(body, f"%a: {memory}, %c: {memory}", 64)
    refused(text, errors.RaceFound, "no barrier orders two threads")


def test_matrices_beyond_their_buffer() -> None:
    _, _, form = HALF
    memory = "memref<20x16xf32>"
    body = load("x", "c", form, memory, "%c8, %zero")
    body = "%c8 = arith.constant 8 : index\n" + body + store("x", "c", form, memory)
    refused(launch(body, f"%c: {memory}"), errors.OutOfBounds, "outside")


Change = Callable[[Any, Any], Any]


def quotient(x: Any, y: Any) -> Any:
    return (x / y).astype("i4")


def negative(x: Any, _: Any) -> Any:
    return -x


CHANGES: list[tuple[str, str, Change]] = [
    ("addf", "f16", np.add),
    ("subf", "f16", np.subtract),
    ("maxf", "f32", np.maximum),
    ("divf", "f32", np.divide),
    ("muli", "i32", np.multiply),
    ("divs", "i32", quotient),
    ("negatef", "f32", negative),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "element", "function"), CHANGES)
def test_elementwise(kind: str, element: str, function: Change) -> None:
    form, memory = f'16x16x{element}, "COp"', f"memref<16x16x{element}>"
    ty = f"!gpu.mma_matrix<{form}>"
    given = ["%x"] if kind.startswith("negate") else ["%x", "%y"]
    body = (
        load("x", "a", form, memory)
        + load("y", "b", form, memory)
        + f"%w = gpu.subgroup_mma_elementwise {kind} {', '.join(given)} :"
        f" ({', '.join([ty] * len(given))}) -> {ty}\n" + store("w", "c", form, memory)
    )
    text = launch(body, f"%a: {memory}, %b: {memory}, %c: {memory}")
    a, b, c = (whole((16, 16), element, seed) for seed in range(3))
    b[b == 0] = 1
    on_simulator(text, a, b, c)
    assert (c == function(a, b).astype(c.dtype)).all()


def test_accumulators_become_wider_and_narrower() -> None:
    half, single = '16x16xf16, "COp"', '16x16xf32, "COp"'
    body = (
        load("x", "a", half, "memref<16x16xf16>")
        + "%w = gpu.subgroup_mma_elementwise extf %x :"
        f" (!gpu.mma_matrix<{half}>) -> !gpu.mma_matrix<{single}>\n"
        + "%v = gpu.subgroup_mma_elementwise truncf %w :"
        f" (!gpu.mma_matrix<{single}>) -> !gpu.mma_matrix<{half}>\n"
        + store("w", "b", single, "memref<16x16xf32>")
        + store("v", "c", half, "memref<16x16xf16>")
    )
    halves = "memref<16x16xf16>"
    text = launch(body, f"%a: {halves}, %b: memref<16x16xf32>, %c: {halves}")
    a = whole((16, 16), "f16", 1)
    b, c = np.zeros((16, 16), "f4"), np.zeros((16, 16), "f2")
    on_simulator(text, a, b, c)
    assert (a == b).all()
    assert (a == c).all()


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (multiply(16, 16, 16, "f16", "i32"), "Multiply f16 into"),
        (multiply(16, 12, 16, "f16", "f32"), "multiples"),
        (
            multiply(16, 16, 16, "f16", "f32").replace(
                "%z : !gpu", "%z a_transpose : !gpu"
            ),
            "transpose",
        ),
    ],
)
def test_what_no_matrix_unit_has_is_refused(text: str, advice: str) -> None:
    refused(text, errors.UnsupportedOperation, advice)
