"""Reads of cells that hold nothing, against enumeration and where little is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from tiling_nests import nests, scops
from tiling_oracle import execute, last_writers

from gpucodegen.tiling.model.isl import UNLIMITED, Limits
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    read,
    write,
)
from gpucodegen.tiling.proof.flow import UndefinedRead, undefined_reads


def fresh(scop: Scop) -> Scop:
    return replace(scop, arrays=tuple(replace(a, fresh=True) for a in scop.arrays))


@pytest.mark.sampled(5)
@settings(nests, max_examples=120)
@given(scops())
def test_equal_to_enumeration(scop: Scop):
    outcomes: dict[int, list[bool]] = {}
    for source, sink in last_writers(execute(scop)):
        outcomes.setdefault(sink.number, []).append(source is None)
    wanted = {n: all(empty) for n, empty in outcomes.items() if any(empty)}
    built = model(fresh(scop), UNLIMITED)
    numbers = {(id(r.instances), r.position): i for i, r in enumerate(built.references)}
    assert wanted == {
        numbers[id(u.reference.instances), u.reference.position]: u.proven
        for u in undefined_reads(built)
    }


def found(*body: Node, parameters: tuple[str, ...] = ()) -> list[UndefinedRead]:
    scop = Scop(parameters, (), (Array("t", (8,), fresh=True),), body)
    return list(undefined_reads(model(scop)))


GET = Statement("get", (read("t", "i", loc="here"),))
PUT = Statement("put", (write("t", "j"),))


def test_cells_outside_of_the_array_are_another_matter():
    """Whether n is a place of the array is for the proof of bounds."""
    fill = Loop("j", "0", "8", body=(PUT,))
    get = Statement("get", (read("t", "n"),))
    assert found(fill, get, parameters=("n",)) == []
    (one,) = found(replace(fill, upper=("7",)), get, parameters=("n",))
    assert one.cell == (7,)


def test_nothing_written_at_all():
    (one,) = found(Loop("i", "2", "8", body=(GET,)))
    assert one.proven
    assert one.event.loc == "here"
    assert str(one) == (
        "iteration (i=2) reads the undefined t[2], which nothing has written before"
    )


def test_some_cells_are_missing():
    (one,) = found(Loop("j", "0", "7", body=(PUT,)), Loop("i", "0", "8", body=(GET,)))
    assert not one.proven
    assert one.cell == (7,)


def test_sizes_that_may_differ():
    loops = Loop("j", "0", "N", body=(PUT,)), Loop("i", "0", "M", body=(GET,))
    (one,) = found(*loops, parameters=("N", "M"))
    assert not one.proven
    assert str(one).endswith("where N=0, M=1")


def test_writes_that_may_happen_are_believed():
    anywhere = Statement("scatter", (write("t", None),))
    look = Loop("i", "0", "8", body=(GET,))
    assert found(anywhere, look) == []
    assert found(If(None, (Loop("j", "0", "8", body=(PUT,)),)), look) == []
    assert found(Loop("j", opaque=True, body=(PUT,)), look) == []


def test_reads_of_unknown_cells_need_all_of_them_unwritten():
    gather = Statement("gather", (read("t", None),))
    put = Statement("put", (write("t", "3"),))
    assert found(put, gather) == []
    (one,) = found(gather, put)
    assert one.proven


def test_reads_that_may_not_happen_find_nothing_or_are_not_reported():
    some = Loop("j", "0", "4", body=(PUT,))
    maybe = If(None, (Loop("i", "0", "8", body=(GET,)),))
    assert found(some, maybe) == []
    (one,) = found(maybe)
    assert not one.proven


def test_arguments_and_unanswered_questions_are_not_reported():
    body = (Loop("i", "0", "8", body=(GET,)),)
    assert undefined_reads(model(Scop(arrays=(Array("t", (8,)),), body=body))) == ()
    starved = model(Scop(arrays=(Array("t", (8,), fresh=True),), body=body))
    starved.solver.limits = Limits(operations=1)
    assert undefined_reads(starved) == ()
