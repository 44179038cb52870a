"""A part executed as a whole touches the cells, and keeps the loops, of its inside."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import islpy
import pytest
from hypothesis import given, settings
from tiling_nests import RANKS, nests, scops
from tiling_oracle import carrying_loops, execute

from gpucodegen.tiling.model.isl import UNLIMITED
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    If,
    Loop,
    Scop,
    Statement,
    Tag,
    Wait,
    read,
    write,
)
from gpucodegen.tiling.model.summaries import excess, summary
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts

programs = settings(nests, max_examples=120)
Cells = dict[tuple[str, AccessKind], set[tuple[int, ...]]]


def touched(scop: Scop, **parameters: int) -> Cells:
    """What the accesses of a scop without loops touch."""
    built = model(scop, UNLIMITED)
    fixed = " and ".join(f"{name} = {value}" for name, value in parameters.items())
    found: Cells = defaultdict(set)
    for reference in built.references:
        access = reference.access
        cell = [f"c{d}" for d in range(RANKS[access.array])]
        at = reference.relation.range().intersect(built.where(cell, fixed))
        points: list[islpy.Point] = []
        at.project_out_all_params().foreach_point(points.append)
        found[access.array, access.kind].update(
            tuple(
                point.get_coordinate_val(islpy.dim_type.set, d).to_python()
                for d in range(len(cell))
            )
            for point in points
        )
    return {key: cells for key, cells in found.items() if cells}


@pytest.mark.sampled(5)
@programs
@given(scops(parameters=("N",)))
def test_cells_equal_enumeration(scop: Scop):
    whole = replace(scop, body=(Statement("whole", summary(scop.body)),))
    expected: Cells = defaultdict(set)
    for touch in execute(scop, N=4):
        expected[touch.access.array, touch.access.kind].add(touch.cell)
    assert touched(whole, N=4) == expected


@pytest.mark.sampled(5)
@programs
@given(scops())
def test_a_loop_around_a_call_is_judged_as_with_the_body_in_place(scop: Scop):
    outer = [node for node in scop.body if isinstance(node, Loop)]
    calls = tuple(
        replace(loop, body=(Statement(f"call{k}", summary(loop.body)),))
        for k, loop in enumerate(outer)
    )
    verdicts = loop_verdicts(model(replace(scop, body=calls), UNLIMITED))
    sequential = {v.loop.name for v in verdicts if v.kind is not LoopKind.PARALLEL}
    assert sequential == carrying_loops(scop) & {loop.name for loop in outer}


def test_what_is_not_known_covers_everything_and_is_not_certain():
    open_loop = Loop("w", opaque=True, body=(Statement("S", (write("B", "i", None),)),))
    branch = If(None, (Statement("T", (read("A", "i"),)),))
    both = summary((open_loop, branch))
    assert [(a.indices, a.must) for a in both] == [
        (("i", None), False),
        (("i",), False),
    ]


def test_local_arrays_are_left_out():
    inside = (Statement("S", (write("A", "0"), write("t", "0"))),)
    assert [a.array for a in summary(inside, lambda name: name == "t")] == ["A"]


def test_copies_keep_their_tags():
    start = Statement("S", (write("A", "0"),), tag=Tag("t", ("0",)))
    found = summary((start, Wait(Tag("t", ("0",)))))
    assert [(a.array, a.kind.value) for a in found] == [
        ("A", "write"),
        ("t", "write"),
        ("t", "read"),
    ]


ROW = Scop(("i",), ("0 <= i < 4",), (Array("A", (4, 8)),))


def test_excess_lies_inside_the_array():
    everything = (read("A", None, None),)
    columns = Access(
        "A", AccessKind.READ, ("r", "c"), span=(("r", None), ("c", "8")), where=("r<4",)
    )
    assert list(excess(ROW, everything, (columns,))) == []


def test_excess_has_a_cell():
    (found,) = excess(ROW, (read("A", None, "0"),), (read("A", "i", None),))
    assert found[1] == "reads A[1, 0] where i=0"


def test_writes_are_not_covered_by_reads():
    (found,) = excess(ROW, (write("A", "i", "0"),), (read("A", "i", "0"),))
    assert found[1] == "writes A[0, 0] where i=0"
