"""Enumerates executions, dependences and cells at given sizes, for pictures.

The functions take a `Model` or a `Dependence`, sizes of the parameters, and a `Cut`, a
window on a plane of the iteration space. They return integer tuples in lexicographic
order, or None where isl gave no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import (
    IN,
    OUT,
    PARAM,
    SET,
    Interval,
    Map,
    Set,
    Side,
    Solver,
)
from gpucodegen.tiling.model.isl_forms import members
from gpucodegen.tiling.model.relations import Instances, Model, Reference
from gpucodegen.tiling.proof.dependences import Dependence

Tuple: TypeAlias = tuple[int, ...]
Arrow: TypeAlias = tuple[Tuple, Tuple]


@dataclass(frozen=True, slots=True)
class Cut:
    """A window on a plane of a nest's iteration space.

    ``sizes``: values of the parameters. ``fixed``: values of outermost loops.
    ``shown``: depths, ascending, of the remaining loops; others are projected out.
    ``window``: per shown loop its first value and the value after its last.
    """

    sizes: Mapping[str, int]
    fixed: Tuple
    shown: Tuple
    window: tuple[tuple[int, int], ...]


def value_range(
    model: Model, instances: Instances, sizes: Mapping[str, int], fixed: Tuple
) -> tuple[Interval, ...]:
    """Per loop, the least and the largest value at these sizes.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Loop, Scop, Statement, nest
    >>> body = nest([Loop("i", "0", "N"), Loop("j", "i", "N")], (Statement("S", ()),))
    >>> built = model(Scop(("N",), (), (), body))
    >>> [str(r) for r in value_range(built, built.statements[0], {"N": 9}, (4,))]
    ['[4, 4]', '[4, 8]']
    """
    values = _fixed(_sized(instances.values.range(), sizes), fixed)
    return tuple(
        model.solver.interval(values, depth) for depth in range(len(instances.loops))
    )


def executions(
    model: Model, instances: Instances, cut: Cut
) -> tuple[Tuple, ...] | None:
    """The executions of one statement inside the cut, as values of the shown loops.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Loop, Scop, Statement, nest
    >>> body = nest([Loop("i", "0", "N"), Loop("j", "i", "N")], (Statement("S", ()),))
    >>> built = model(Scop(("N",), (), (), body))
    >>> cut = Cut({"N": 3}, (), (0, 1), ((0, 9), (0, 9)))
    >>> executions(built, built.statements[0], cut)
    ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    """
    return model.solver.ask(
        lambda: members(_cut(_sized(instances.values.range(), cut.sizes), cut)), None
    )


def immediate(
    group: Sequence[Dependence], source: Cut, sink: Cut
) -> tuple[tuple[Dependence, tuple[Arrow, ...]], ...] | None:
    """The immediate pairs of dependences between the same two references.

    With D all pairs of the group, those of each member whose source is the last one:
    { x -> y in member : x = lexmax inverse(D)(y) }. Of those that no loop carries, only
    the first sink of a source. Each end lies inside its cut.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> total = Statement("S", (read("c", "0"), write("c", "0")))
    >>> body = nest([Loop("i", "0", "N"), Loop("j", "0", "2")], (total,))
    >>> found = dependences(model(Scop(("N",), (), (Array("c", (1,)),), body)))
    >>> cut = Cut({"N": 2}, (), (0, 1), ((0, 9), (0, 9)))
    >>> by_i, by_j = [d for d in found if d.kind.name == "WAW"]
    >>> [pairs for _, pairs in immediate((by_i, by_j), cut, cut)]
    [(((0, 1), (1, 0)),), (((0, 0), (0, 1)), ((1, 0), (1, 1)))]
    """
    solver = group[0].model.solver
    last = solver.ask(lambda: _last(group, source.sizes), None)
    if last is None:
        return None
    found: list[tuple[Dependence, tuple[Arrow, ...]]] = []
    for d in group:
        pairs = solver.ask(
            lambda d=d, all_=last: _seen_pairs(d, _close(d, all_), source, sink),
            None,
        )
        if pairs is None:
            return None
        found.append((d, pairs))
    return tuple(found)


def _last(group: Sequence[Dependence], sizes: Mapping[str, int]) -> Map:
    """{ x -> y : x = lexmax { x' : x' -> y in a member } }."""
    pairs = group[0].pairs
    for dependence in group[1:]:
        pairs = pairs.union(dependence.pairs)
    return _sized_map(pairs, sizes).reverse().lexmax().reverse()


def _close(dependence: Dependence, last: Map) -> Map:
    pairs = dependence.pairs.intersect(last)
    return pairs if dependence.level is not None else pairs.lexmin()


def _seen_pairs(
    dependence: Dependence, pairs: Map, source: Cut, sink: Cut
) -> tuple[Arrow, ...]:
    by_value = pairs.apply_domain(dependence.source.instances.values).apply_range(
        dependence.sink.instances.values
    )
    inside = by_value.intersect_domain(
        _seen(by_value.domain(), source)
    ).intersect_range(_seen(by_value.range(), sink))
    ends = _project(_project(inside, IN, source.shown), OUT, sink.shown)
    width = len(source.shown)
    return tuple((p[:width], p[width:]) for p in members(ends.wrap().flatten()))


def touched(
    model: Model,
    array: str,
    loops: Mapping[str, int],
    *,
    writes: bool | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[Interval, ...] | None:
    """The box of cells of an array that executions with these loop values touch.

    ``writes`` restricts to writes or to reads, ``sizes`` are those of parameters. None
    where no execution touches it, or where the cells are unknown.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import write
    >>> put = Statement("S", (write("A", "4*b + t"),))
    >>> body = nest([Loop("b", "0", "8"), Loop("t", "0", "4")], (put,))
    >>> built = model(Scop(arrays=(Array("A", (32,)),), body=body))
    >>> [str(side) for side in touched(built, "A", {"b": 2})]
    ['[8, 11]']
    """
    cells = _cells(model, array, loops, writes=writes)
    if cells is None or model.solver.is_empty(cells):
        return None
    cells = _sized(cells, sizes or {})
    first = cells.dim(SET) - len(model.array(array).shape)
    return tuple(model.solver.interval(cells, d) for d in range(first, cells.dim(SET)))


def touched_cells(
    model: Model, array: str, loops: Mapping[str, int], limit: int
) -> tuple[Tuple, ...] | None:
    """The cells that executions with these loop values write; None if over ``limit``.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import write
    >>> put = Statement("S", (write("A", "4*b + t"),))
    >>> body = nest([Loop("b", "0", "3"), Loop("t", "0", "4")], (put,))
    >>> built = model(Scop(arrays=(Array("A", (32,)),), body=body))
    >>> touched_cells(built, "A", {"t": 1}, 9)
    ((1,), (5,), (9,))
    """
    box = touched(model, array, loops, writes=True)
    cells = _cells(model, array, loops, writes=True)
    if box is None or cells is None or _volume(box) > limit:
        return None
    rank = len(model.array(array).shape)
    return model.solver.ask(
        lambda: tuple(sorted({point[-rank:] for point in members(cells)})), None
    )


def _volume(box: Sequence[Interval]) -> float:
    total = 1.0
    for side in box:
        if side.lower is None or side.upper is None:
            return float("inf")
        total *= side.upper - side.lower + 1
    return total


def _cells(
    model: Model, array: str, loops: Mapping[str, int], *, writes: bool | None
) -> Set | None:
    """The union of { access(x) : x in domain, x_l = v for l, v in loops }.

    Over the accesses that all these loops surround.
    """
    found: Set | None = None
    for reference in model.references:
        access = reference.access
        names = {loop.name for loop in reference.instances.loops}
        is_meant = access.array == array and writes in {None, access.writes}
        if is_meant and set(loops) <= names:
            cells = _image(model.solver, reference, loops)
            found = cells if found is None else found.union(cells)
    return found


def _image(solver: Solver, reference: Reference, loops: Mapping[str, int]) -> Set:
    instances = reference.instances
    relation = solver.ask(
        lambda: reference.relation.apply_domain(instances.values), reference.relation
    )
    for depth, loop in enumerate(instances.loops):
        if loop.name in loops:
            relation = relation.fix_val(IN, depth, loops[loop.name])
    return relation.range()


def _sized(points: Set, sizes: Mapping[str, int]) -> Set:
    for name, value in sizes.items():
        position = points.find_dim_by_name(PARAM, name)
        if position >= 0:
            points = points.fix_val(PARAM, position, value)
    return points


def _sized_map(pairs: Map, sizes: Mapping[str, int]) -> Map:
    return pairs.intersect_params(_sized(pairs.params(), sizes))


def _fixed(values: Set, fixed: Tuple) -> Set:
    for depth, value in enumerate(fixed):
        values = values.fix_val(SET, depth, value)
    return values


def _seen(values: Set, cut: Cut) -> Set:
    """{ v in values : v_d = fixed_d, first_d <= v_d < end_d }."""
    seen = _fixed(_sized(values, cut.sizes), cut.fixed)
    for depth, (first, end) in zip(cut.shown, cut.window, strict=True):
        seen = seen.lower_bound_val(SET, depth, first)
        seen = seen.upper_bound_val(SET, depth, end - 1)
    return seen


def _cut(values: Set, cut: Cut) -> Set:
    """Projection of the visible values on the shown loops."""
    seen = _seen(values, cut)
    for depth in reversed(range(seen.dim(SET))):
        if depth not in cut.shown:
            seen = seen.project_out(SET, depth, 1)
    return seen


def _project(pairs: Map, side: Side, shown: Tuple) -> Map:
    for depth in reversed(range(pairs.dim(side))):
        if depth not in shown:
            pairs = pairs.project_out(side, depth, 1)
    return pairs
