"""Updates of cells that data choose: parallel where that is proven, always right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors

UPDATES = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "addf": np.add,
    "subf": np.subtract,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}
MANY = 40_000
"""Updates that are worth threads of a CPU."""


def text(op: str, ty: str, *, updates: int, cells: int = 9, more: str = "") -> str:
    """``cells[keys[i]] = cells[keys[i]] OP terms[i]``, and ``more`` behind it."""
    return f"""
func.func @f(%keys: memref<{updates}xi32>, %terms: memref<{updates}x{ty}>,
             %cells: memref<{cells}x{ty}>) {{
  affine.for %i = 0 to {updates} {{
    %key = affine.load %keys[%i] : memref<{updates}xi32>
    %at = arith.index_cast %key : i32 to index
    %now = memref.load %cells[%at] : memref<{cells}x{ty}>
    %term = affine.load %terms[%i] : memref<{updates}x{ty}>
    %next = arith.{op} %now, %term : {ty}
    memref.store %next, %cells[%at] : memref<{cells}x{ty}>
    {more}
  }}
  return
}}"""


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Keys, terms and cells."""


def made(ty: str, updates: int, cells: int = 9) -> Arrays:
    rng = np.random.default_rng(updates)
    dtype = {"i8": "i1", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}[ty]
    keys = rng.integers(0, cells, updates).astype("i4")
    terms = rng.integers(-9, 9, updates).astype(dtype)
    return keys, terms, rng.integers(-99, 99, cells).astype(dtype)


def wanted(op: str, keys: np.ndarray, terms: np.ndarray, cells: np.ndarray) -> Any:
    found = cells.copy()
    UPDATES[op].at(found, keys, terms)
    return found


KINDS = [
    *((op, ty) for op in UPDATES if op[-1] == "i" for ty in ("i32", "i64")),
    *((op, ty) for op in UPDATES if op[-1] == "f" for ty in ("f32", "f64")),
    *(("addi", "i8"), ("maxsi", "i8")),
]


@pytest.mark.drawn(12)
@pytest.mark.sampled(26)
@pytest.mark.parametrize(("op", "ty"), KINDS)
def test_threads_of_a_cpu_have_cells_of_their_own(op: str, ty: str) -> None:
    keys, terms, cells = made(ty, MANY)
    expected = wanted(op, keys, terms, cells)
    options: dict[str, Any] = {"reassociate": True, "target": "cpu", "threads": 3}
    program = gcg.compile(text(op, ty, updates=MANY), **options)
    program.f(keys, terms, cells)
    np.testing.assert_array_equal(cells, expected)
    assert "partial" in program.source("f")


@pytest.mark.slow
@pytest.mark.cases(("op", "ty"), KINDS, parts=5)
def test_threads_of_a_gpu_update_atomically(op: str, ty: str) -> None:
    keys, terms, cells = made(ty, 300)
    expected = wanted(op, keys, terms, cells)
    program = gcg.compile(text(op, ty, updates=300), target="sim", reassociate=True)
    program.f(keys, terms, cells)
    np.testing.assert_array_equal(cells, expected)
    assert "atomic" in program.source("f")


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_sums_of_floats_keep_their_order(target: str) -> None:
    """Unless the program, or the caller, frees it."""
    updates = MANY if target == "cpu" else 300
    keys, terms, cells = made("f64", updates)
    terms, expected = terms * np.pi, cells.copy()
    np.add.at(expected, keys, terms)
    program = gcg.compile(text("addf", "f64", updates=updates), target=target)
    program.f(keys, terms, cells)
    np.testing.assert_array_equal(cells, expected)
    assert is_serial(program, target)


def is_serial(program: gcg.Program, target: str) -> bool:
    source = program.source("f")
    return "prange" not in source if target == "cpu" else "threadIdx" not in source


OTHERS = {
    "a load": """%seen = affine.load %cells[3] : memref<9xi32>
    affine.store %seen, %terms[%i] : memref<{n}xi32>""",
    "a store": "affine.store %term, %cells[3] : memref<9xi32>",
    "another update": """%n = memref.load %cells[%at] : memref<9xi32>
    %x = arith.maxsi %n, %term : i32
    memref.store %x, %cells[%at] : memref<9xi32>""",
    "a use of the sum": "affine.store %next, %terms[%i] : memref<{n}xi32>",
}


@pytest.mark.drawn(4)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("other", OTHERS)
def test_other_uses_of_the_cells_keep_the_order(target: str, other: str) -> None:
    updates = MANY if target == "cpu" else 300
    given_ = made("i32", updates)
    more = OTHERS[other].format(n=updates)
    source = text("addi", "i32", updates=updates, more=more)
    program = gcg.compile(source, target=target)
    arguments = [a.copy() for a in given_]
    program.f(*arguments)
    gcg.compile(source, target="interp").f(*given_)
    for found, expected in zip(arguments, given_, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert is_serial(program, target)


def test_few_updates_of_many_cells_are_left_to_one_thread() -> None:
    source = text("addi", "i32", updates=MANY, cells=9 * MANY)
    given_ = made("i32", MANY, 9 * MANY)
    expected = wanted("addi", *given_)
    program = gcg.compile(source, target="cpu", threads=2)
    program.f(*given_)
    np.testing.assert_array_equal(given_[-1], expected)
    assert is_serial(program, "cpu")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_cell_that_there_is_not_is_told(threads: int) -> None:
    """It is named at the load, once; the other cells get their updates."""
    keys, terms, cells = made("i32", MANY)
    keys[MANY // 2] = 9
    around = np.zeros(11, "i4")
    around[1:-1] = cells
    others = np.delete(keys, MANY // 2), np.delete(terms, MANY // 2)
    expected = wanted("addi", *others, cells)
    source = text("addi", "i32", updates=MANY)
    program = gcg.compile(source, target="cpu", threads=threads)
    with pytest.raises(errors.AccessOutOfBounds, match="reads outside dimension 0"):
        program.f(keys, terms, around[1:-1])
    np.testing.assert_array_equal(around[1:-1], expected)
    assert around[0] == around[-1] == 0


ROWS = """
func.func @f(%keys: memref<{rows}x{columns}xi32>, %cells: memref<{rows}x7x5xi64>,
             %all: memref<5xi64>) {{
  %one = arith.constant 1 : i64
  affine.for %r = 0 to {rows} {{
    affine.for %c = 0 to {columns} step {step} {{
      %key = affine.load %keys[%r, %c] : memref<{rows}x{columns}xi32>
      %at = arith.index_cast %key : i32 to index
      %two = arith.constant 2 : index
      %now = memref.load %cells[%r, %two, %at] : memref<{rows}x7x5xi64>
      %next = arith.addi %one, %now : i64
      memref.store %next, %cells[%r, %two, %at] : memref<{rows}x7x5xi64>
      %total = memref.load %all[%at] : memref<5xi64>
      %more = arith.subi %total, %one : i64
      memref.store %more, %all[%at] : memref<5xi64>
    }}
  }}
  return
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim", "interp"])
@settings(max_examples=12, deadline=None)
@given(rows=st.integers(2, 9), columns=st.integers(4, 70), step=st.integers(1, 3))
def test_two_buffers_in_a_nest(target: str, rows: int, columns: int, step: int) -> None:
    rng = np.random.default_rng(rows * columns)
    keys = rng.integers(0, 5, (rows, columns)).astype("i4")
    cells, all_ = np.zeros((rows, 7, 5), "i8"), np.zeros(5, "i8")
    source = ROWS.format(rows=rows, columns=columns, step=step)
    gcg.compile(source, target=target).f(keys, cells, all_)
    used = keys[:, ::step]
    counts = np.stack([np.bincount(row, minlength=5) for row in used])
    np.testing.assert_array_equal(cells[:, 2], counts)
    assert cells.sum() == used.size
    np.testing.assert_array_equal(all_, -counts.sum(axis=0))


@pytest.mark.slow
def test_the_same_index_may_be_computed_twice() -> None:
    """``out[key[i]] = max(out[key[i]], x[i])`` of Python loads the key two times."""
    source = text("maxsi", "i32", updates=MANY).replace(
        "memref.store %next, %cells[%at]",
        """%again = affine.load %keys[%i] : memref<40000xi32>
    %there = arith.index_cast %again : i32 to index
    memref.store %next, %cells[%there]""",
    )
    given_ = made("i32", MANY)
    expected = wanted("maxsi", *given_)
    program = gcg.compile(source, target="cpu", threads=2)
    program.f(*given_)
    np.testing.assert_array_equal(given_[-1], expected)
    assert "partial" in program.source("f")


def test_cells_that_are_indices_are_updated_by_one_thread_of_a_gpu() -> None:
    """No atomic operation has their type."""
    source = text("addi", "i64", updates=300)
    source = source.replace("memref<9xi64>", "memref<9xindex>")
    source = source.replace("memref<300xi64>", "memref<300xindex>")
    source = source.replace("%term : i64", "%term : index")
    keys, terms, cells = made("i64", 300)
    expected = wanted("addi", keys, terms, cells)
    gcg.compile(source, target="sim").f(keys, terms, cells)
    np.testing.assert_array_equal(cells, expected)


ELSEWHERE = """
func.func @f(%c: memref<8xi32>, %k: memref<99xindex>, %a: memref<99xi32>, %x: i32) {
  %five = arith.constant 5 : index
  affine.for %i = 0 to 99 {
    %at = affine.load %k[%i] : memref<99xindex>
    %now = memref.load %c[%at] : memref<8xi32>
    %next = arith.addi %now, %x : i32
    %near = arith.remui %i, %five : index
    %far = arith.addi %near, %five : index
    memref.store %next, %c[%at] : memref<8xi32>
    %place = arith.subi %far, %five : index
    memref.store %x, %a[%place] : memref<99xi32>
  }
  return
}"""


def test_what_an_update_does_not_decide_goes_on() -> None:
    """Values made between its load and its store are used behind it, too."""
    program = gcg.compile(ELSEWHERE, target="cpu", threads=2)
    around = np.full(110, 7, "i4")
    keys = np.zeros(99, "i8")
    keys[50] = 1000
    cells = np.zeros(8, "i4")
    with pytest.raises(errors.AccessOutOfBounds):
        program.f(cells, keys, around[10:109], 1)
    assert cells.tolist() == [98, 0, 0, 0, 0, 0, 0, 0]
    assert around.tolist() == [*[7] * 10, *[1] * 5, *[7] * 95]
