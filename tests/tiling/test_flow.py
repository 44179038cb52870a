"""Last writers of random programs against enumeration, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiling_nests import nests, scops
from tiling_oracle import Touch, execute, last_writers
from tiling_samples import MATMUL_INIT, nest

from gpucodegen.tiling.model.isl import SET, UNLIMITED, Limits, Map
from gpucodegen.tiling.model.relations import Model, Reference, model
from gpucodegen.tiling.model.scop import (
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    Tag,
    read,
    walk,
    write,
)
from gpucodegen.tiling.proof.flow import Flow, flow

if TYPE_CHECKING:
    from islpy import Point

Cell = tuple[int, ...]
Event = tuple[int, tuple[int, ...]]
Arrow = tuple[Event | None, Event, Cell]


def reads(built: Model) -> list[Reference]:
    return [r for r in built.references if not r.access.writes]


def flows(built: Model) -> Iterator[Flow]:
    for reference in reads(built):
        found = flow(built, reference)
        assert found is not None
        yield found


def members(relation: Map) -> list[tuple[int, ...]]:
    """The tuples of a relation, flat."""
    found: list[tuple[int, ...]] = []

    def collect(point: Point) -> None:
        count = range(point.get_space().dim(SET))
        values = [point.get_coordinate_val(SET, i) for i in count]
        found.append(tuple(value.to_python() for value in values))

    relation.wrap().flatten().foreach_point(collect)
    return found


def arrows(built: Model) -> set[Arrow]:
    """(write or None, read, cell) with the values of the loops, by flow."""
    numbers = {(id(r.instances), r.position): i for i, r in enumerate(built.references)}
    found: set[Arrow] = set()
    for item in flows(built):
        target = item.read.instances
        sink = numbers[id(target), item.read.position]
        width = len(target.loops)
        for values in members(item.initial.apply_domain(target.values)):
            found.add((None, (sink, values[:width]), values[width:]))
        for source in item.sources:
            origin = source.write.instances
            number = numbers[id(origin), source.write.position]
            cells = Map.identity(item.initial.range().get_space().map_from_set())
            shown = target.values.product(cells)
            pairs = source.pairs.apply_domain(origin.values).apply_range(shown)
            first = len(origin.loops)
            for values in members(pairs):
                event = (sink, values[first : first + width])
                writer = (number, values[:first])
                found.add((writer, event, values[first + width :]))
    return found


def event(touch: Touch) -> Event:
    return touch.number, touch.values(len(touch.around))


def expected(scop: Scop) -> set[Arrow]:
    return {
        (None if source is None else event(source), event(sink), sink.cell)
        for source, sink in last_writers(execute(scop))
    }


@pytest.mark.sampled(8)
@settings(nests, max_examples=120)
@given(scops())
def test_last_writers_equal_enumeration(scop: Scop):
    assert arrows(model(scop, UNLIMITED)) == expected(scop)


def with_doubtful_writes(body: tuple[Node, ...], may: set[str]) -> tuple[Node, ...]:
    """The accesses of some statements may not happen."""

    def changed(node: Node) -> Node:
        match node:
            case Loop():
                return replace(node, body=with_doubtful_writes(node.body, may))
            case If():
                then, orelse = (
                    with_doubtful_writes(b, may) for b in (node.body, node.orelse)
                )
                return replace(node, body=then, orelse=orelse)
            case Statement() if node.name in may:
                return replace(
                    node, accesses=tuple(replace(a, must=False) for a in node.accesses)
                )
            case _:
                return node

    return tuple(map(changed, body))


@st.composite
def doubtful_scops(draw: st.DrawFn) -> Scop:
    scop = draw(scops())
    names = [n.name for n in walk(scop.body) if isinstance(n, Statement)]
    drawn = draw(st.lists(st.sampled_from([*names, "none"]), max_size=2))
    return replace(scop, body=with_doubtful_writes(scop.body, set(drawn)))


@pytest.mark.slow
@settings(nests, max_examples=120)
@given(doubtful_scops())
def test_writes_that_may_not_happen_hide_nothing(scop: Scop):
    assert arrows(model(scop, UNLIMITED)) == expected(scop)


def test_initialisation_and_accumulation_are_both_sources():
    *_, accumulated = flows(model(MATMUL_INIT))
    assert [s.write.instances.name for s in accumulated.sources] == ["S0", "S1"]
    assert accumulated.initial.is_empty()


def sources(scop: Scop) -> list[str]:
    *_, last = flows(model(scop))
    names = [s.write.instances.name for s in last.sources]
    return [*names, *(["initial"] if not last.initial.is_empty() else [])]


PUT, GET = Statement("put", (write("t"),)), Statement("get", (read("t"),))
CELL = (Array("t"),)


def test_doubt_that_both_share_does_not_count():
    together = If(None, (PUT, GET))
    assert sources(Scop(arrays=CELL, body=(together,))) == ["put"]
    apart = (If(None, (PUT,)), If(None, (GET,)))
    assert sources(Scop(arrays=CELL, body=apart)) == ["put", "initial"]


def test_loops_that_may_not_run_hide_nothing():
    again = Loop("w", opaque=True, body=(PUT,))
    assert sources(Scop(arrays=CELL, body=(again, GET))) == ["put", "initial"]
    inside = Loop("w", opaque=True, body=(PUT, GET))
    assert sources(Scop(arrays=CELL, body=(inside,))) == ["put"]
    behind = Loop("w", opaque=True, body=(GET, PUT))
    assert sources(Scop(arrays=CELL, body=(behind,))) == ["put", "initial"]


def test_copies_under_way_hide_nothing():
    copy = Statement("copy", (read("s"), write("t")), tag=Tag("tag"))
    arrays = (*CELL, Array("s"), Array("tag"))
    found = sources(Scop(arrays=arrays, body=(PUT, copy, GET)))
    assert found == ["put", "copy"]


def test_a_statement_that_sums_up_loops_may_read_what_it_writes():
    inside = (("k", "8"),)
    before = replace(read("t", "k - 1"), span=inside, where=("k >= 1",))
    chain = Statement("chain", (before, replace(write("t", "k"), span=inside)))
    scop = Scop(arrays=(Array("t", (8,)),), body=(chain,))
    assert sources(scop) == ["chain", "initial"]


def test_unknown_cells_hide_nothing():
    scatter = Statement("scatter", (write("A", None),))
    look = Statement("look", (read("A", "3"),))
    scop = Scop(arrays=(Array("A", (8,)),), body=(scatter, look))
    assert sources(scop) == ["scatter", "initial"]


def test_no_quota_left_is_no_answer():
    scop = nest("for i in 0..N\n  for j in 0..i\n    A[2*i + j] = A[2*i - j + 1]", "N")
    built = model(scop)
    built.solver.limits = Limits(operations=1)
    assert [flow(built, r) for r in reads(built)] == [None]
