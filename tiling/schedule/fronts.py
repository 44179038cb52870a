"""Fronts: executions of two nested loops that may all run at once.

Comes in: dependences, the depths of loops p and q. Goes out: factors (a, b) such that
every dependence that p or q carries goes from a smaller a*p + b*q to a larger one. All
executions with one value of a*p + b*q then form a front.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import check_schedule

LARGEST = 4
"""Steeper fronts hold too few executions to be of use."""


def front(
    model: Model, found: Sequence[Dependence], outer: int, inner: int
) -> tuple[int, int] | None:
    """The flattest front of the loops at two depths; None where there is none.

    A factor of 0 stands for a loop that carries nothing.

    With o the loops around the outer one and d = values of y minus values of x:
    { d : x -> y carried from p to q, d_o = 0, a*d_p + b*d_q <= 0 } = {}.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> above, left = read("A", "i - 1", "j"), read("A", "i", "j - 1")
    >>> sweep = Statement("S", (above, left, write("A", "i", "j")))
    >>> body = nest([Loop("i", "1", "N"), Loop("j", "1", "N")], (sweep,))
    >>> built = model(Scop(("N",), (), (Array("A", ("N", "N")),), body))
    >>> front(built, dependences(built), 0, 1)
    (1, 1)
    """
    carried = [d for d in found if d.level in range(outer, inner + 1)]
    ends = {
        end.name: end
        for dependence in carried
        for end in (dependence.source.instances, dependence.sink.instances)
    }
    if any(len(end.loops) <= inner for end in ends.values()):
        return None
    for a, b in sorted(product(range(LARGEST + 1), repeat=2), key=sum)[1:]:
        times = {name: _time(end, outer, inner, (a, b)) for name, end in ends.items()}
        if times and check_schedule(model, carried, times) is None:
            return a, b
    return None


def _time(
    end: Instances, outer: int, inner: int, factors: tuple[int, int]
) -> tuple[str, ...]:
    names = [loop.name for loop in end.loops]
    a, b = factors
    return (*names[:outer], f"{a}*{names[outer]} + {b}*{names[inner]}")
