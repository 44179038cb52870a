"""Updates of cells that data choose, of which blocks of a GPU have their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.report.explanation import explain
from gpucodegen.runtime.cuda.compilation import compile_cubin, compile_ptx, disassemble
from gpucodegen.tiling.machine.gpu.devices import DEVICES, most_shared
from gpucodegen.tiling.machine.gpu.scatters import (
    IN_GLOBAL,
    Cells,
    ScatterLoop,
    candidates,
    clocks,
    plan_scatter,
    shared_bytes,
)
from tests.programs.test_scatter import KINDS, ROWS, made, text, wanted

OWN = {"scatter.owns": 2}
APART = {"scatter.owns": 1}
H100 = DEVICES["H100"]


def where(program: gcg.Program) -> list[str]:
    """Where updates meet, and why, in the order of the text."""
    return [str(one) for one in program.transfers("f")]


@pytest.mark.drawn(30)
@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 4, 32])
@pytest.mark.parametrize(("op", "ty"), KINDS)
@pytest.mark.sampled(6)
def test_blocks_have_cells_of_their_own(op: str, ty: str, copies: int) -> None:
    """Copies of a narrow cell are whole words, which are swapped."""
    for updates in (40, 2077):
        keys, terms, cells = made(ty, updates)
        expected = wanted(op, keys, terms, cells)
        whole = max(copies, 4) if ty == "i8" else copies
        plan = {**OWN, "scatter.copies": whole}
        source = text(op, ty, updates=updates)
        program = gcg.compile(source, target="sim", reassociate=True, plan=plan)
        program.f(keys, terms, cells)
        np.testing.assert_array_equal(cells, expected)
        assert "own" in program.source("f")


POINTS = st.fixed_dictionaries(
    {
        "scatter.owns": st.just(2),
        "scatter.copies": st.sampled_from([1, 8, 32]),
        "scatter.threads": st.sampled_from([256, 1024]),
        "scatter.groups": st.sampled_from([1, 2]),
    }
)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(4, 9),
    columns=st.integers(32, 70),
    step=st.integers(1, 3),
    point=st.one_of(st.just(APART), POINTS),
)
def test_two_buffers_of_a_nest_of_rows(
    rows: int, columns: int, step: int, point: Mapping[str, int]
) -> None:
    rng = np.random.default_rng(rows * columns)
    keys = rng.integers(0, 5, (rows, columns)).astype("i4")
    cells, all_ = np.zeros((rows, 7, 5), "i8"), np.zeros(5, "i8")
    source = ROWS.format(rows=rows, columns=columns, step=step)
    program = gcg.compile(source, target="sim", plan=point)
    program.f(keys, cells, all_)
    used = keys[:, ::step]
    counts = np.stack([np.bincount(row, minlength=5) for row in used])
    np.testing.assert_array_equal(cells[:, 2], counts)
    assert cells.sum() == used.size
    np.testing.assert_array_equal(all_, -counts.sum(axis=0))
    assert ("own" in program.source("f")) == (point["scatter.owns"] == 2)


CHOSEN = """
func.func @f(%keys: memref<?x8xi32>, %cells: memref<11x3xi32>) {
  %zero = arith.constant 0 : index
  %n = memref.dim %keys, %zero : memref<?x8xi32>
  affine.for %i = 0 to %n {
    %first = affine.load %keys[%i, 0] : memref<?x8xi32>
    %three = arith.constant 3 : i32
    %is_small = arith.cmpi slt, %first, %three : i32
    scf.if %is_small {
      %column = arith.index_cast %first : i32 to index
      affine.for %j = 2 to 8 {
        %x = affine.load %keys[%i, %j] : memref<?x8xi32>
        %at = arith.index_cast %x : i32 to index
        %now = memref.load %cells[%at, %column] : memref<11x3xi32>
        %next = arith.subi %now, %x : i32
        memref.store %next, %cells[%at, %column] : memref<11x3xi32>
      }
    }
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sim", "interp"])
@pytest.mark.parametrize("rows", [0, 1, 33, 700])
def test_conditions_and_loops_around_updates(target: str, rows: int) -> None:
    """The number of iterations may be open: one kernel for all of them."""
    keys = np.random.default_rng(rows).integers(0, 11, (rows, 8)).astype("i4")
    cells, expected = np.ones((11, 3), "i4"), np.ones((11, 3), "i4")
    few = keys[keys[:, 0] < 3]
    taken = few[:, 2:]
    np.subtract.at(expected, (taken, few[:, :1] + 0 * taken), taken)
    program = gcg.compile(CHOSEN, target=target, specialize=False)
    program.f(keys, cells)
    np.testing.assert_array_equal(cells, expected)
    if target == "sim":
        assert "own" in program.source("f")


@pytest.mark.slow
@pytest.mark.parametrize("key", [9, -1, 1 << 20])
def test_a_cell_that_there_is_not_is_told_as_without_own_ones(key: int) -> None:
    """It is an access of global memory, and nothing else is."""
    found: list[str] = []
    for plan in (OWN, APART):
        keys, terms, cells = made("i32", 3000)
        keys[1234] = key
        program = gcg.compile(
            text("addi", "i32", updates=3000), target="sim", plan=plan
        )
        with pytest.raises(errors.KernelOutOfBounds, match="global access") as caught:
            program.f(keys, terms, cells)
        (byte,) = re.findall(r"\(byte (-?\d+) of", str(caught.value))
        found.append(byte if key < 10 else "far")
    assert found[0] == found[1]


PARALLEL = """
func.func @f(%keys: memref<300xindex>, %cells: memref<{cells}x{ty}>, %x: {ty},
             %seen: memref<300x{ty}>) {{
  affine.parallel (%i) = (0) to (300) {{
    %at = affine.load %keys[%i] : memref<300xindex>
    %o = memref.atomic_rmw {word} %x, %cells[%at] : ({ty}, memref<{cells}x{ty}>) -> {ty}
    {more}
  }}
  return
}}"""
REASONS: dict[str, tuple[dict[str, str], str]] = {
    "sums in order": ({"ty": "f32", "word": "addf"}, "the order of sums is not free"),
    "old values": (
        {"more": "affine.store %o, %seen[%i] : memref<300xi32>"},
        "an old value is used",
    ),
    "more": (
        {"more": "affine.store %x, %seen[%i] : memref<300xi32>"},
        "iterations do affine.store, too",
    ),
    "open": ({"cells": "?"}, "the number of cells is not known"),
    "assigned": ({"word": "assign"}, "the last one of some values stays"),
    "many": ({"cells": "99999"}, "99999 cells are more than the 101376 bytes"),
}


@pytest.mark.cases("name", REASONS)
def test_what_keeps_updates_in_global_memory_is_told(name: str) -> None:
    more, reason = REASONS[name]
    holes = {"cells": "9", "ty": "i32", "word": "addi", "more": "", **more}
    program = gcg.compile(PARALLEL.format(**holes), target="sim", specialize=False)
    (told,) = where(program)
    assert reason in told
    assert "global memory" in told


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("ty", "word"), [("i32", "addi"), ("f32", "maximumf")])
def test_updates_as_atomic_ones_in_the_text(ty: str, word: str) -> None:
    holes = {"cells": "9", "ty": ty, "word": word, "more": ""}
    dtype = {"i32": "i4", "f32": "f4"}[ty]
    keys = np.random.default_rng(0).integers(0, 4, 300)
    cells = np.zeros(9, dtype)
    program = gcg.compile(PARALLEL.format(**holes), target="sim", plan=OWN)
    program.f(keys, cells, 3, np.zeros(300, dtype))
    counts = np.bincount(keys, minlength=9)
    expected = 3 * counts if word == "addi" else 3 * (counts > 0)
    np.testing.assert_array_equal(cells, expected.astype(dtype))
    (told,) = where(program)
    assert "each block has cells of its own" in told


def test_explain_says_where_updates_meet_and_why() -> None:
    lines = explain(text("addi", "i32", updates=1 << 20), targets=["cuda"]).text()
    assert "updates of cells: each block has cells of its own" in lines
    assert "in global memory (estimated)" in lines


# -- the model -------------------------------------------------------------------------


def histogram(cells: int, updates: int = 1 << 24) -> ScatterLoop:
    return ScatterLoop(updates, (Cells(cells, 4),), widths=(1, 2, 4))


@pytest.mark.sampled(2)
@pytest.mark.cases("device", DEVICES, parts=2)
def test_few_cells_are_those_of_blocks_and_many_are_not(device: str) -> None:
    on, room = DEVICES[device], 99 << 10
    owners = [plan_scatter(histogram(1 << n), room, device=on).owns for n in range(21)]
    assert owners == sorted(owners, reverse=True)
    assert owners[8]
    assert owners[12]
    assert not owners[20]


def test_cells_fit_where_a_block_may_have_them() -> None:
    for room in (most_shared((8, 6)), most_shared((9, 0))):
        found = list(candidates(histogram(4096), room, H100))
        assert found
        assert max(shared_bytes(plan, histogram(4096)) for plan in found) <= room
        assert not list(candidates(histogram(room), room, H100))


def test_the_rates_of_global_updates_are_those_that_were_measured() -> None:
    """An H100 took 4324, 468 and 201 us for 256, 4096 and 1,048,576 cells."""
    for cells, took in ((256, 4324), (4096, 468), (1 << 20, 201)):
        estimated = clocks(IN_GLOBAL, histogram(cells), H100) / H100.clock / 1000
        assert estimated == pytest.approx(took, rel=0.03)


# -- machine code ----------------------------------------------------------------------

INSTRUCTIONS = {
    ("addi", "i32"): r"ATOMS\.(ADD|POPC\.INC)",
    ("maxsi", "i32"): r"ATOMS\.MAX",
    ("xori", "i32"): r"ATOMS\.XOR",
    ("addi", "i64"): r"ATOMS\.CAST\.SPIN\.64",
    ("addf", "f32"): r"ATOMS\.CAST\.SPIN",
    ("maximumf", "f32"): r"ATOMS\.CAS",
}


def spec_of(op: str, ty: str) -> Any:
    source = text(op, ty, updates=4096)
    program = gcg.compile(source, target="sim", reassociate=True, plan=OWN)
    program.f(*made(ty, 4096))
    (spec,) = program["f"].executable().kernels
    return spec


@pytest.mark.slow
@pytest.mark.parametrize("cc", [(8, 0), (8, 6), (9, 0)])
def test_ptx_names_shared_memory(cc: tuple[int, int]) -> None:
    """Both forms stay apart: a generic address would be asked where it lies."""
    ptx = compile_ptx(spec_of("addi", "i32"), cc)
    updates = re.findall(r"\b(?:atom|red)\.[\w.]+", ptx)
    assert {u.split(".")[1] for u in updates} <= {"shared", "global", "relaxed"}
    assert any(".shared" in u for u in updates)
    assert any(".global" in u for u in updates)


@pytest.mark.slow
@pytest.mark.sass
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
@pytest.mark.parametrize(("op", "ty"), INSTRUCTIONS)
@pytest.mark.sampled(4)
def test_machine_code_updates_shared_memory(
    op: str, ty: str, cc: tuple[int, int]
) -> None:
    code = disassemble(compile_cubin(spec_of(op, ty), cc).code)
    assert re.search(INSTRUCTIONS[op, ty], code)
    assert not re.search(r"\b(STL|LDL)\b", code), "no spills"
