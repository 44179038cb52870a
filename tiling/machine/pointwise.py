"""Nests that meet at single places only may run place after place.

Comes in: the dependences of nests that run one after the other, and the place that each
execution of their statements works on.  Goes out: a dependence that leaves its place.
Without one, all that happens at a place may be done at once, in any order of places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpucodegen.tiling.proof.dependences import Dependence


def leaving(
    found: Iterable[Dependence], places: Mapping[str, Sequence[str]]
) -> Dependence | None:
    """The first dependence between different places; None if there is none.

    ``places``: for each statement by name, isl text over the variables of its loops.
    With p the place of an execution,

        { x -> y in dependences : p(x) != p(y) } = {}

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> def two(index):
    ...     first = nest([Loop("i", "0", "N")], (Statement("S", (write("A", "i"),)),))
    ...     sink = Statement("T", (read("A", index), write("B", "j")))
    ...     second = nest([Loop("j", "0", "N")], (sink,))
    ...     arrays = (Array("A", ("N",)), Array("B", ("N",)))
    ...     return dependences(model(Scop(("N",), (), arrays, (*first, *second))))
    >>> leaving(two("j"), {"S": ["i"], "T": ["j"]}) is None
    True
    >>> print(leaving(two("N - 1 - j"), {"S": ["i"], "T": ["j"]}).kind.value)
    read after write
    """
    for dependence in found:
        model, pairs = dependence.model, dependence.pairs
        names = (dependence.source.instances.name, dependence.sink.instances.name)
        first, second = (model.times(name, places[name]) for name in names)
        elsewhere = model.solver.ask(
            lambda p=pairs, a=first, b=second: p.subtract(a.apply_range(b.reverse())),
            pairs,
        )
        if not model.solver.is_empty(elsewhere):
            return dependence
    return None
