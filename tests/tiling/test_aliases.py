"""Whatever way two arrays overlap, the loops that this orders stay in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiling_nests import nests, scops
from tiling_oracle import carrier, conflicts, execute

from gpucodegen.tiling.model.isl import UNLIMITED
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Loop,
    Reduction,
    Scop,
    Statement,
    nest,
    read,
    write,
)
from gpucodegen.tiling.model.summaries import merged
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts

Cell = tuple[int, ...]
PLACES: list[Callable[[int, int], Cell]] = [
    lambda row, column: (101 * row + column,),
    lambda row, column: (101 * (row - 1) + column - 2,),
    lambda row, column: (row - 101 * column,),
]
"""Where a cell of B lies in the memory of A."""


@pytest.mark.sampled(8)
@settings(nests, max_examples=100)
@given(scops(), st.sampled_from(PLACES))
def test_loops_that_overlapping_arrays_order_are_not_parallel(
    scop: Scop, place: Callable[[int, int], Cell]
):
    touches = [
        replace(t, access=replace(t.access, array="A"), cell=place(*t.cell))
        if t.access.array == "B"
        else t
        for t in execute(scop)
    ]
    ordered = {
        a.around[level][0].name
        for a, b in conflicts(touches)
        if (level := carrier(a, b)) is not None
    }
    storage = merged(scop, {"A": "group", "B": "group"})
    verdicts = loop_verdicts(model(storage, UNLIMITED))
    assert ordered <= {v.loop.name for v in verdicts if v.kind is LoopKind.SEQUENTIAL}


def test_a_group_of_which_one_is_used_is_looked_at_alone():
    accumulate = Statement(
        "S", (read("A", "0"), write("A", "0")), reduction=Reduction("add", 0, 1)
    )
    scop = Scop(arrays=(Array("A", (1,)), Array("B", (1,))), body=(accumulate,))
    assert merged(scop, {"A": 0, "B": 0}) == scop
    assert merged(scop, {"A": 0, "B": 1}) == scop


def test_what_accumulates_in_a_storage_is_not_known():
    accumulate = Statement(
        "S",
        (read("B", "0"), read("A", "0"), write("A", "0")),
        reduction=Reduction("add", 1, 2),
    )
    scop = Scop(arrays=(Array("A", (1,)), Array("B", (1,))), body=(accumulate,))
    (found,) = merged(scop, {"A": 0, "B": 0}).body
    assert isinstance(found, Statement)
    assert found.reduction is None
    assert {a.indices for a in found.accesses} == {("0", None), (None, "0")}


def test_a_write_of_one_array_may_leave_the_cell_of_another():
    scalars = (Array("A"), Array("B"))
    both = Statement("S", (read("B"), write("A")))
    (found,) = merged(Scop(arrays=scalars, body=(both,)), {"A": 0, "B": 0}).body
    assert isinstance(found, Statement)
    assert not any(access.exact for access in found.accesses)


def test_loops_over_cells_of_one_array_stay_parallel():
    arrays = (Array("A", (8,)), Array("B", (8,)))
    twice = (Statement("S", (read("A", "i"), write("A", "i"))),)
    look = (Statement("T", (read("B", "j"),)),)
    body = (*nest([Loop("i", "0", "8")], twice), *nest([Loop("j", "0", "8")], look))
    storage = merged(Scop(arrays=arrays, body=body), {"A": 0, "B": 0})
    assert {v.kind for v in loop_verdicts(model(storage))} == {LoopKind.PARALLEL}
