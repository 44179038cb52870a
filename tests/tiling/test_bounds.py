from __future__ import annotations

from dataclasses import replace

from gpucodegen.tiling.bounds import by_array, violations
from gpucodegen.tiling.model import model
from gpucodegen.tiling.scop import (
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    nest,
    read,
    write,
)


def stencil(*body: Node, parameters: tuple[str, ...] = (), extent: int | str = 8):
    return Scop(parameters, (), (Array("A", (extent,)),), body)


LOOK = Statement("S", (read("A", "i - 1"), write("A", "i")), loc="here")


def test_proven_violation_with_witness():
    (found,) = violations(model(stencil(Loop("i", "0", "8", body=(LOOK,)))))
    assert found.proven
    assert found.event is not None
    assert found.event.loc == "here"
    assert str(found) == (
        "iteration (i=0) reads A[-1], outside dimension 0 of extent 8"
    )


def test_guarded_access_is_in_bounds():
    guarded = If(("i - 1 >= 0",), (LOOK,))
    assert violations(model(stencil(Loop("i", "0", "8", body=(guarded,))))) == ()


def test_symbolic_sizes_prove_when_every_run_violates():
    loop = Loop("i", "1", "N + 1", body=(LOOK,))
    (found,) = violations(model(stencil(loop, parameters=("N",), extent="N")))
    assert found.proven
    assert found.parameters == {"N": 1}
    assert found.cell == (1,)


def test_unrelated_sizes_are_only_possible_violations():
    loop = Loop("i", "0", "M", body=(Statement("S", (write("A", "i"),)),))
    (found,) = violations(model(stencil(loop, parameters=("N", "M"), extent="N")))
    assert not found.proven
    assert found.event is not None


def test_what_may_not_run_is_not_proven():
    loop = Loop("i", "0", "8", body=(If(None, (LOOK,)),))
    (found,) = violations(model(stencil(loop)))
    assert not found.proven


def test_unknown_indices_and_extents_are_not_reported():
    gather = Statement("S", (read("A", None),))
    arrays = (Array("A", (8,)), Array("B", (None,)))
    far = Statement("T", (read("B", "100"),))
    assert violations(model(Scop(arrays=arrays, body=(gather, far)))) == ()


def copied(*bounds: tuple[str, str], extent: int = 8):
    """One access in copies of its loop, as passes make them."""
    access = write("A", "i", loc="here")
    body = (
        Loop(
            f"i{at}",
            low,
            up,
            body=(Statement(f"S{at}", (replace(access, indices=(f"i{at}",)),)),),
        )
        for at, (low, up) in enumerate(bounds)
    )
    return violations(model(stencil(*body, parameters=("N",), extent=extent)))


def test_a_copy_that_only_some_runs_reach_proves_nothing():
    assert not any(found.proven for found in copied(("0", "N"), ("9", "N")))
    assert all(found.proven for found in copied(("9", "N + 9"), ("8", "N + 8")))


def test_possible_violations_are_told_once_per_array():
    accesses = (read("A", "i"), read("A", "i + 1"), write("B", "i"), read("C", "i"))
    scop = Scop(
        parameters=("N", "M", "K"),
        context=("N >= 0", "M >= 0", "K >= 0"),
        arrays=(Array("A", ("N",)), Array("B", ("N",)), Array("C", (4,))),
        body=nest([Loop("i", "0", "M")], (Statement("S", accesses),)),
    )
    beyond = "outside dimension 0 of extent N where N=0, M=1"
    told = [(str(v), more) for v, more in by_array(violations(model(scop)))]
    assert told[:2] == [
        (
            f"iteration (i=0) reads A[0], {beyond}",
            1,
        ),
        (
            f"iteration (i=0) writes B[0], {beyond}",
            0,
        ),
    ]
    assert "C[4]" in told[2][0]
