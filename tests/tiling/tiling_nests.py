"""Random nests for hypothesis: everything an affine program may do to a subscript."""

from __future__ import annotations

import itertools

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
)

nests = settings(
    max_examples=300,
    database=None,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""Three hundred examples, the same ones in every run."""

RANKS = {"A": 1, "B": 2}


def _affine(draw: st.DrawFn, names: list[str], coefficients: list[int]) -> str:
    terms = [str(draw(st.integers(-2, 2)))]
    for name in names:
        factor = draw(st.sampled_from(coefficients))
        if factor:
            terms.append(f"{factor}*{name}")
    return " + ".join(terms)


def _quasi_affine(draw: st.DrawFn, names: list[str]) -> str:
    linear = _affine(draw, names, [0, 0, 1, 1, -1, 2, -2])
    divisor = draw(st.integers(2, 4))
    shape = draw(st.sampled_from(["{}", "{}", "{}", "floor(({})/{})", "(({}) mod {})"]))
    return shape.format(linear, divisor)


def _condition(draw: st.DrawFn, names: list[str]) -> str:
    linear = _affine(draw, names, [0, 1, -1])
    shape = draw(st.sampled_from(["{} >= 0", "{} >= 0", "{} = 0", "({}) mod 2 = 0"]))
    return shape.format(linear)


@st.composite
def scops(draw: st.DrawFn, parameters: tuple[str, ...] = ()) -> Scop:
    """A nest of depth at most 4 with at most 6 accesses of two arrays."""
    numbers = itertools.count()
    budget = [draw(st.integers(2, 6))]

    def statement(names: list[str]) -> Statement:
        count = min(budget[0], draw(st.integers(1, 2)))
        budget[0] -= count
        accesses = []
        for _ in range(count):
            array = draw(st.sampled_from(sorted(RANKS)))
            rank = RANKS[array]
            indices = [_quasi_affine(draw, names) for _ in range(rank)]
            kind = draw(st.sampled_from([AccessKind.WRITE, *AccessKind]))
            accesses.append(Access(array, kind, tuple(indices)))
        return Statement(f"S{next(numbers)}", tuple(accesses))

    def loop(names: list[str], depth: int) -> Loop:
        name = f"i{next(numbers)}"
        lower = [str(draw(st.integers(-2, 2)))]
        upper = [draw(st.sampled_from(parameters or ("3", "4")))]
        if names and draw(st.booleans()):
            lower.append(_affine(draw, names[-1:], [1, -1]))
        if names and draw(st.booleans()):
            upper.append(_affine(draw, names[-1:], [1, -1, 2]) + " + 3")
        step = draw(st.sampled_from([1, 1, 1, 2, 3]))
        inner = body([*names, name], depth + 1)
        return Loop(name, tuple(lower), tuple(upper), step, inner)

    def body(names: list[str], depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for _ in range(draw(st.integers(1, 2))):
            choices = ["loop"] if depth == 0 else ["statement", "statement", "if"]
            if 0 < depth < 4:
                choices += ["loop", "loop"]
            match draw(st.sampled_from(choices)):
                case _ if budget[0] <= 0:
                    break
                case "loop":
                    nodes.append(loop(names, depth))
                case "if":
                    conditions = (_condition(draw, names),)
                    then = (statement(names),)
                    orelse = (statement(names),) if draw(st.booleans()) else ()
                    nodes.append(If(conditions, then, orelse if budget[0] >= 0 else ()))
                case _:
                    nodes.append(statement(names))
        return tuple(nodes)

    arrays = tuple(Array(name, (None,) * rank) for name, rank in RANKS.items())
    return Scop(parameters, (), arrays, body([], 0))
