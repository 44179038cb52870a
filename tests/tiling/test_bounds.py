from __future__ import annotations

from dataclasses import replace

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
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
from gpucodegen.tiling.proof.array_bounds import by_array, needs, violations


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


def test_a_violation_runs_in_every_call_unless_parameters_decide():
    always = Statement("S", (write("A", "8"),))
    ends = {"4": True, "N": False, "N + 4": False}
    for end, runs in ends.items():
        loop = Loop("i", "0", end, body=(always,))
        (found,) = violations(model(stencil(loop, parameters=("N",))))
        assert found.proven
        assert found.runs is runs


def test_unrelated_sizes_are_only_possible_violations():
    loop = Loop("i", "0", "M", body=(Statement("S", (write("A", "i"),)),))
    (found,) = violations(model(stencil(loop, parameters=("N", "M"), extent="N")))
    assert not found.proven
    assert found.event is not None


def squares(*extents: str) -> Scop:
    """A[i, j] = B[j] in loops to M and K."""
    accesses = (read("B", "j"), write("A", "i", "j"))
    loops = [Loop("i", "0", "M"), Loop("j", "0", "K")]
    arrays = (Array("A", extents[:2]), Array("B", extents[2:]))
    context = tuple(f"{extent} >= 0" for extent in dict.fromkeys(extents))
    parameters = tuple(dict.fromkeys((*extents, "M", "K")))
    body = nest(loops, (Statement("S", accesses),))
    return Scop(parameters, context, arrays, body)


def needed(scop: Scop) -> tuple[str, int]:
    """What extents must fulfil, and how many violations they do not decide."""
    built = model(scop)
    found = violations(built)
    return needs(built, found), len([v for v in found if not v.needed])


def test_what_extents_decide_is_told_as_a_relation_of_extents():
    assert needed(squares("M", "K", "K")) == ("", 0)
    assert needed(squares("M", "K", "N")) == ("N >= K", 0)
    assert needed(replace(squares("M", "P", "P"), arrays=ARRAYS)) == ("K <= P", 0)


ARRAYS = (Array("A", ("M", "P")), Array("B", ("P",)), Array("C", ("K",)))


def test_what_other_numbers_decide_is_not():
    assert needed(squares("M", "P", "K")) == ("K <= P", 0)
    assert needed(squares("M", "P", "P")) == ("", 2)
    own = replace(
        squares("M", "K", "N"),
        arrays=(Array("A", ("M", "K")), Array("B", ("N",), fresh=True)),
    )
    assert needed(own) == ("", 1)


def test_what_no_extents_can_mend_is_not():
    arrays = (Array("A", ("M",)),)
    body = nest([Loop("i", "0", "M")], (Statement("S", (read("A", "i + 1"),)),))
    assert needed(Scop(("M",), ("M >= 0",), arrays, body)) == ("", 1)


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
