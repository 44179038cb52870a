"""Legality of loop transformations, and permutable bands, proven on dependences.

From a `Model` and its dependences, each ``check_...`` function returns None where a
transformation is legal, or a `Refusal` with the dependence that forbids it and a
witness.  `bands` returns the maximal permutable bands, whose loops may be tiled and
interchanged, in pre-order; each loop is in exactly one.  `stays_within` tells whether
iterations distributed over threads keep every dependence inside one thread: { x -> y in
dependence : position of x != position of y } = {}.  `leaving` tells whether consecutive
nests may run place after place: no dependence connects different places.

A pair ``x -> y`` in the dependences means that y must stay after x. Accumulations into
one cell with one operator may be reordered where the program allows it, and everywhere
with ``relaxed=True``, for callers that may reassociate. Dependences carried by loops
that are declared parallel impose no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import IN, OUT, Map
from gpucodegen.tiling.model.relations import Instances, Model, header
from gpucodegen.tiling.model.scop import If, Loop, Node, statements
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.kernel_order import everything
from gpucodegen.tiling.proof.witness import Witness, find_witness


def leaving(
    found: Iterable[Dependence], places: Mapping[str, Sequence[str]]
) -> Dependence | None:
    """The first dependence between different places; None if there is none.

    ``places``: for each statement by name, isl text over the variables of its loops.
    With p the place of an execution, none exists iff

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


def stays_within(found: Dependence, before: object, after: object) -> bool:
    """Whether the dependence connects only equal positions of two operations' loops."""
    source, sink = found.source.instances, found.sink.instances
    first, second = _position(source, before), _position(sink, after)
    if found.assumed or first is None or second is None:
        return False
    solver, scop = found.model.solver, found.model.scop
    left = [f"x{d}" for d in range(len(source.loops))]
    right = [f"y{d}" for d in range(len(sink.loops))]
    tuples = f"[{', '.join(left)}] -> [{', '.join(right)}]"
    condition = f"{left[first]} != {right[second]}"
    differ = solver.map(f"{header(scop)} {{ {tuples} : {condition} }}")
    apart = solver.ask(lambda: found.pairs.intersect(differ), None)
    return apart is not None and solver.is_empty(apart)


def _position(instances: Instances, payload: object) -> int | None:
    """The position, among the loops around a statement, of the loop of an operation."""
    made = [loop.payload is payload for loop in instances.loops]
    return made.index(True) if True in made else None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a transformation is illegal, or could not be shown to be legal.

    ``undecided``: isl gave no answer, so no violation is known either.
    """

    reason: str
    dependence: Dependence | None = None
    witness: Witness | None = None
    undecided: bool = False

    def __str__(self) -> str:
        shown = f": {self.witness}" if self.witness else ""
        return f"{self.reason}{shown}"


def check_tiling(
    found: Sequence[Dependence], chain: Sequence[Loop], *, relaxed: bool = False
) -> Refusal | None:
    """Whether the nested loops ``chain`` may be tiled by any sizes, without skewing.

    With o the loops around the chain and d = values of y minus values of x, for each l
    of the chain:  { d : x -> y in dependences, d_o = 0, d_l < 0 } = {}.

    An exact distance of -1 is refused like any other: tiles of size 1 would be legal,
    larger ones not.
    """
    imperfect = check_perfect(chain)
    if imperfect:
        return imperfect
    for dependence, first in _inside(found, chain, relaxed=relaxed):
        pairs = _by_value(dependence)
        for at, loop in enumerate(chain, start=first):
            backward = _backward(dependence, pairs, at)
            if not dependence.model.solver.is_empty(backward):
                reason = f"a dependence points backward along loop {loop.name}"
                return _refuse(reason, dependence, _by_trip(dependence, backward))
    return None


def check_interchange(
    found: Sequence[Dependence],
    chain: Sequence[Loop],
    order: Sequence[str],
    *,
    relaxed: bool = False,
) -> Refusal | None:
    """Whether the nested loops ``chain`` may run in the given order of names.

    With d' = the distances on the chain in the new order:
    { d : x -> y in dependences, d_o = 0, d' lexicographically negative } = {}.
    """
    imperfect = check_perfect(chain)
    if imperfect:
        return imperfect
    names = [loop.name for loop in chain]
    for dependence, first in _inside(found, chain, relaxed=relaxed):
        pairs = _by_value(dependence)
        for name in order:
            at = first + names.index(name)
            backward = _backward(dependence, pairs, at)
            if not dependence.model.solver.is_empty(backward):
                reason = f"order ({', '.join(order)}) reverses a dependence"
                return _refuse(reason, dependence, _by_trip(dependence, backward))
            pairs = _level(dependence, pairs, at)
    return None


def check_fusion(
    found: Sequence[Dependence],
    first: Sequence[Loop],
    second: Sequence[Loop],
    *,
    relaxed: bool = False,
) -> Refusal | None:
    """Whether two neighbouring nests may become one, iteration by iteration.

    With c the two chains' iterations:
    { x -> y in dependences : x in first, y in second, c(y) lex before c(x) } = {}.
    """
    mismatch = check_perfect(first) or check_perfect(second) or _unlike(first, second)
    if mismatch:
        return mismatch
    kept = list(_kept(found, relaxed=relaxed))
    for dependence in _between(kept, first[0], second[0]):
        pairs = dependence.pairs
        outer = len(dependence.loops)
        for d in range(outer, outer + len(first)):
            backward = _backward(dependence, pairs, d)
            if not dependence.model.solver.is_empty(backward):
                return _refuse("fusion reverses a dependence", dependence, backward)
            pairs = _level(dependence, pairs, d)
    return None


def check_schedule(
    model: Model,
    found: Sequence[Dependence],
    times: Mapping[str, Sequence[str]],
    *,
    relaxed: bool = False,
) -> Refusal | None:
    """Whether a schedule, statement -> isl text over loop names, is legal.

    With T the schedule: { x -> y in dependences : T(x) lex after or equal T(y) } = {}.
    """
    length = max(map(len, times.values()))
    schedule = {
        name: model.times(name, (*vector, *["0"] * (length - len(vector))))
        for name, vector in times.items()
    }
    for dependence in _kept(found, relaxed=relaxed):
        source, sink = _ends(dependence)
        broken = model.solver.ask(
            lambda d=dependence, s=schedule[source], t=schedule[sink]: (
                d.pairs.intersect(s.lex_ge_map(t))
            ),
            dependence.pairs,
        )
        if not model.solver.is_empty(broken):
            return _refuse("the schedule reverses a dependence", dependence, broken)
    return None


def check_perfect(chain: Sequence[Loop]) -> Refusal | None:
    """Whether each loop of ``chain`` is the only node in its predecessor's body."""
    for outer, inner in pairwise(chain):
        if [getattr(node, "name", None) for node in outer.body] != [inner.name]:
            return Refusal(f"loop {outer.name} holds more than loop {inner.name}")
    opaque = next((loop for loop in chain if loop.opaque), None)
    return Refusal(f"loop {opaque.name} is not affine") if opaque else None


def rectangular(chain: Sequence[Loop]) -> bool:
    """Whether no bound of the chain depends on a loop of the chain.

    >>> rectangular([Loop("i", "0", "N"), Loop("j", "0", "i + 1")])
    False
    """
    names = {loop.name for loop in chain}
    bounds = [bound for loop in chain for bound in (*loop.lowers, *loop.uppers)]
    return names.isdisjoint(_WORD.findall(" ".join(bounds)))


def _inside(
    found: Sequence[Dependence], chain: Sequence[Loop], *, relaxed: bool
) -> Iterator[tuple[Dependence, int]]:
    """Dependences with d_o = 0 within the chain, and where the chain begins."""
    for dependence in _kept(found, relaxed=relaxed):
        names = [loop.name for loop in dependence.loops]
        if chain[-1].name not in names:
            continue
        first = names.index(chain[0].name)
        if dependence.level is not None and dependence.level >= first:
            yield dependence, first


def _backward(dependence: Dependence, pairs: Map, at: int) -> Map:
    """{ x -> y in pairs : y_at < x_at }, or a superset."""
    return dependence.model.solver.ask(lambda: pairs.order_gt(IN, at, OUT, at), pairs)


def _level(dependence: Dependence, pairs: Map, at: int) -> Map:
    """{ x -> y in pairs : y_at = x_at }, or a superset."""
    return dependence.model.solver.ask(lambda: pairs.equate(IN, at, OUT, at), pairs)


def _by_value(dependence: Dependence) -> Map:
    """{ i -> j : x -> y in pairs, i and j the loops' values at x and y }.

    Trip counters do not suffice: where a step is not 1 and a bound depends on another
    loop, a later trip may have a smaller value.
    """
    source, sink = dependence.source.instances, dependence.sink.instances
    return dependence.model.solver.ask(
        lambda: dependence.pairs.apply_domain(source.values).apply_range(sink.values),
        everything(source, sink),
    )


def _by_trip(dependence: Dependence, pairs: Map) -> Map:
    """The inverse of `_by_value`."""
    source, sink = dependence.source.instances, dependence.sink.instances
    return dependence.model.solver.ask(
        lambda: pairs.apply_domain(source.values.reverse()).apply_range(
            sink.values.reverse()
        ),
        dependence.pairs,
    )


def _kept(found: Sequence[Dependence], *, relaxed: bool) -> Iterator[Dependence]:
    for dependence in found:
        declared = dependence.carrier is not None and dependence.carrier.parallel
        may_reorder = relaxed or dependence.reassociable
        if not declared and not (may_reorder and dependence.reduces):
            yield dependence


def _refuse(reason: str, dependence: Dependence, pairs: Map) -> Refusal:
    source, sink = dependence.source, dependence.sink
    witness = find_witness(dependence.model, pairs, source, sink)
    return Refusal(reason, dependence, witness)


def _between(
    found: Sequence[Dependence], first: Loop, second: Loop
) -> Iterator[Dependence]:
    """Dependences between two nests in one iteration of the surrounding loops."""
    sources = {s.name for s in statements(first.body)}
    sinks = {s.name for s in statements(second.body)}
    for dependence in found:
        source, sink = _ends(dependence)
        if dependence.level is None and source in sources and sink in sinks:
            yield dependence


def _unlike(first: Sequence[Loop], second: Sequence[Loop]) -> Refusal | None:
    """How the headers of the two chains differ."""
    renamed = {b.name: a.name for a, b in zip(first, second, strict=True)}
    for a, b in zip(first, second, strict=True):
        if not (a.lowers and a.uppers):
            return Refusal(f"the bounds of loop {a.name} are not affine")
        if _header(a, {}) != _header(b, renamed):
            return Refusal(f"loops {a.name} and {b.name} have different bounds")
    return None


def _header(loop: Loop, renamed: Mapping[str, str]) -> object:
    def bounds(texts: Sequence[str]) -> list[str]:
        return [_WORD.sub(lambda m: renamed.get(m[0], m[0]), text) for text in texts]

    return bounds(loop.lowers), bounds(loop.uppers), loop.step


def _ends(dependence: Dependence) -> tuple[str, str]:
    return dependence.source.instances.name, dependence.sink.instances.name


_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Band:
    """A permutable run of perfectly nested loops, and the reason why it ends."""

    loops: tuple[Loop, ...]
    outer: tuple[Loop, ...]
    rectangular: bool
    ended_by: Refusal | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The loops' names, outermost first."""
        return tuple(loop.name for loop in self.loops)


def bands(
    body: tuple[Node, ...], found: Sequence[Dependence], *, relaxed: bool = False
) -> tuple[Band, ...]:
    """All bands of a program with these dependences.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> diagonal = Statement("S", (read("A", "i + 1", "j - 1"), write("A", "i", "j")))
    >>> body = nest([Loop("i", "0", "4"), Loop("j", "1", "5")], (diagonal,))
    >>> scop = Scop(arrays=(Array("A", (5, 5)),), body=body)
    >>> found = bands(body, dependences(model(scop)))
    >>> [band.names for band in found]
    [('i',), ('j',)]
    >>> print(found[0].ended_by)
    a dependence points backward along loop j: S at (i=0, j=2) reads A[1, 1] and \
S at (i=1, j=1) writes it
    """
    return tuple(_bands(body, (), found, relaxed))


def _bands(
    body: tuple[Node, ...],
    outer: tuple[Loop, ...],
    found: Sequence[Dependence],
    relaxed: bool,
) -> Iterator[Band]:
    for node in body:
        match node:
            case Loop():
                band = _band_from(node, outer, found, relaxed)
                yield band
                inside = (*outer, *band.loops)
                yield from _bands(band.loops[-1].body, inside, found, relaxed)
            case If():
                yield from _bands((*node.body, *node.orelse), outer, found, relaxed)
            case _:
                pass


def _band_from(
    loop: Loop, outer: tuple[Loop, ...], found: Sequence[Dependence], relaxed: bool
) -> Band:
    chain = (loop,)
    refusal = None
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop):
        longer = (*chain, chain[-1].body[0])
        refusal = check_tiling(found, longer, relaxed=relaxed)
        if refusal:
            break
        chain = longer
    return Band(chain, outer, rectangular(chain), refusal)
