"""Tiles of arrays in fast memory: what to hold, where it lies, what to copy.

Comes in: a `Model`, an array and the number of outer loops whose one iteration works on
a tile. Goes out: a `LocalTile` per group of references, or the `Refusal` of one.

For an iteration o of the outer loops let R(o), W(o) be the cells that the group reads
and writes, E(o) in R(o) those it reads before it has certainly written them, M(o) in
W(o) those it certainly writes. A buffer with corner L(o) and constant extents replaces
the array inside o, with copies from I(o) before and of O(o) after all accesses, if

    holds:    R(o) + W(o) + I(o) + O(o) within L(o) + [0, extents)
    takes in: E(o) + (O(o) - M(o)) within I(o)
    puts out: W(o) within O(o)
    apart:    no other access within o conflicts with a cell of the group, and
              none writes a cell of O(o).

I and O are scanned polyhedra; where they are more than needed they stay in the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from gpucodegen.tiling.machine.contraction import index_coefficients
from gpucodegen.tiling.model.isl import SET, Set
from gpucodegen.tiling.model.relations import Model, Reference
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.proof.values.tile_body import TileBody, certainly_writes
from gpucodegen.tiling.schedule.scan import (
    Linear,
    ScannedRange,
    lower_bounds,
    scan,
    scanned,
)


@dataclass(frozen=True, slots=True)
class LocalTile:
    """A buffer for the cells that some references touch in one outer iteration.

    ``corner``: the cell at the buffer's first element; ``copy_in`` and ``copy_out``:
    bounds of the array's dimensions ``c0``, ``c1``, ..., None where nothing is copied.
    ``reused``: some cell is accessed by several instances.  ``contiguous``: the
    innermost loop that moves a reference moves it by one cell.
    """

    array: str
    references: tuple[Reference, ...]
    depth: int
    corner: tuple[Linear, ...]
    extents: tuple[int, ...]
    copy_in: tuple[ScannedRange, ...] | None
    copy_out: tuple[ScannedRange, ...] | None
    reused: bool
    contiguous: bool

    @property
    def elements(self) -> int:
        """The size of the buffer."""
        return prod(self.extents)

    @property
    def pays(self) -> bool:
        """PPCG's rule: worth a copy where cells are used again or lie apart."""
        return self.reused or not self.contiguous


def local_tiles(
    model: Model, array: str, depth: int
) -> tuple[LocalTile | Refusal, ...]:
    """The tiles of an array in one iteration of the ``depth`` outermost loops.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read
    >>> blur = Statement("S", (read("A", "i - 1"), read("A", "i + 1")))
    >>> tile, point = Loop("t", "1", "N - 1", 32), Loop("i", "t", ("t + 32", "N - 1"))
    >>> scop = Scop(("N",), (), (Array("A", ("N",)),), nest([tile, point], (blur,)))
    >>> (tile,) = local_tiles(model(scop), "A", 1)
    >>> [str(c) for c in tile.corner], tile.extents, tile.reused, tile.copy_out
    (['t - 1'], (34,), True, None)
    >>> [str(bound) for bound in tile.copy_in[0].uppers]
    ['t + 33', 'N']
    """
    body = TileBody(model, depth)
    references = [r for r in model.references if r.access.array == array]
    short = any(len(r.instances.loops) < depth for r in references)
    if short or any(None in r.access.indices for r in references):
        return (Refusal("it is also accessed where its index is not affine"),)
    groups = _merged(body, [(r,) for r in references])
    return tuple(_tile(body, group) for group in groups)


Group = tuple[Reference, ...]


def _merged(body: TileBody, groups: list[Group]) -> list[Group]:
    """Groups united while two of them conflict, or are smaller together."""
    for one, other in combinations(groups, 2):
        if _belong_together(body, one, other):
            rest = [g for g in groups if g is not one and g is not other]
            both = sorted((*one, *other), key=lambda r: (r.instances.order, r.position))
            return _merged(body, [tuple(both), *rest])
    return sorted(groups, key=lambda g: (g[0].instances.order, g[0].position))


def _belong_together(body: TileBody, one: Group, other: Group) -> bool:
    """Whether one writes, or writes back, what the other touches; or one box is less.

    cells(one) * cells(other) is not empty and W(one) + W(other) is not,
    or O(one) * W(other) + O(other) * W(one) is not empty
    """
    solver = body.model.solver
    meet = solver.ask(lambda: body.union(one).intersect(body.union(other)), None)
    if meet is None or not solver.is_empty(meet):
        writes = any(r.access.writes for r in (*one, *other))
        return writes or _is_smaller(body, one, other)
    return not (_is_apart(body, one, other) and _is_apart(body, other, one))


def _is_apart(body: TileBody, one: Group, other: Group) -> bool:
    """O(one) * W(other) is empty."""
    solver = body.model.solver
    theirs = _written(body, other)
    out = solver.ask(
        lambda: _copied(body, one, _written(body, one), body.iterations()), None
    )
    return out is not None and solver.is_empty(out.cells.intersect(theirs))


def _is_smaller(body: TileBody, one: Group, other: Group) -> bool:
    """Whether one box of both holds no more than two."""
    sizes = [_elements(body, group) for group in (one, other, (*one, *other))]
    apart, together = sum(n or 0 for n in sizes[:2]), sizes[2]
    return None not in sizes and together is not None and together <= apart


def _written(body: TileBody, group: Group, *, surely: bool = False) -> Set:
    """W(o), or M(o)."""
    writes = [r for r in group if (certainly_writes(r) if surely else r.access.writes)]
    touched = body.union(writes or group)
    return touched if writes else touched.subtract(touched)


def _elements(body: TileBody, group: Group) -> int | None:
    box = _box(body, body.union(group), body.iterations())
    return None if box is None else prod(box[1])


def _tile(body: TileBody, group: Group) -> LocalTile | Refusal:
    found = body.model.solver.ask(lambda: _exact_tile(body, group), None)
    return found or Refusal("the cells of its tile were not found within the limit")


def _exact_tile(body: TileBody, group: Group) -> LocalTile | Refusal:
    context = body.iterations()
    touched = body.union(group)
    must = _written(body, group, surely=True)
    out = _copied(body, group, _written(body, group), context)
    if out is None:
        return Refusal("the part that it writes has no affine bounds")
    needed = out.cells.subtract(must)
    for reference in group:
        if not reference.access.writes:
            needed = needed.union(body.exposed(reference))
    into = _copied(body, group, needed.coalesce(), context)
    if into is None:
        return Refusal("the part that it reads has no affine bounds")
    held = touched.union(out.cells).union(into.cells)
    box = _box(body, held, context)
    if box is None:
        return Refusal("its tile has no constant extents")
    corner, extents = box
    return LocalTile(
        group[0].access.array,
        group,
        body.depth,
        corner,
        extents,
        into.ranges,
        out.ranges,
        any(_reuses(body, a, b) for a in group for b in group),
        all(_is_contiguous(body.model, r) for r in group),
    )


@dataclass(frozen=True, slots=True)
class _Copied:
    """The cells that loops with these bounds visit; without bounds there are none."""

    cells: Set
    ranges: tuple[ScannedRange, ...] | None


def _copied(body: TileBody, group: Group, cells: Set, context: Set) -> _Copied | None:
    """Bounds around ``cells`` that stay in the array; None where there are none."""
    if cells.is_empty():
        return _Copied(cells, None)
    model = body.model
    ranges = scan(model.solver, cells, context)
    if ranges is None:
        return None
    visited = _visited(body, ranges, context)
    if not visited.is_subset(cells):
        shape = model.array(group[0].access.array).shape
        if None in shape:
            return None
        names = [f"c{d}" for d in range(len(shape))]
        pairs = zip(names, shape, strict=True)
        inside = " and ".join(f"0 <= {c} < {extent}" for c, extent in pairs)
        clipped = visited.intersect(model.where(names, inside))
        ranges = scan(model.solver, clipped, context)
        if ranges is None:
            return None
        visited = _visited(body, ranges, context)
    return _Copied(visited, ranges)


def _visited(body: TileBody, ranges: Sequence[ScannedRange], context: Set) -> Set:
    """The cells of the ranges, in the iterations that there are."""
    names = [*body.model.scop.parameters, *_outer_names(body)]
    cells = scanned(body.model.solver, ranges, names)
    return cells.intersect_params(context)


def _outer_names(body: TileBody) -> list[str]:
    reference = body.model.references[0]
    return [loop.name for loop in reference.instances.loops[: body.depth]]


Box = tuple[tuple[Linear, ...], tuple[int, ...]]


def _box(body: TileBody, cells: Set, context: Set) -> Box | None:
    """The corner with the smallest constant extents: max { c_d - corner_d } + 1."""
    corner: list[Linear] = []
    extents: list[int] = []
    solver = body.model.solver
    for d in range(cells.dim(SET)):
        found = [
            (width, bound)
            for bound in lower_bounds(solver, cells, context, d)
            for width in (_width(body, cells, d, bound),)
            if width is not None
        ]
        if not found:
            return None
        width, bound = min(found, key=lambda item: item[0])
        corner.append(bound)
        extents.append(width)
    return tuple(corner), tuple(extents)


def _width(body: TileBody, cells: Set, d: int, bound: Linear) -> int | None:
    names = [f"c{i}" for i in range(cells.dim(SET))]
    parameters = [*body.model.scop.parameters, *_outer_names(body)]
    text = (
        f"[{', '.join(parameters)}] -> {{ [{', '.join(names)}] -> [c{d} - ({bound})] }}"
    )
    line = cells.apply(body.model.solver.map(text))
    largest = body.model.solver.interval(line, 0).upper
    return None if largest is None else largest + 1


def _reuses(body: TileBody, one: Reference, other: Reference) -> bool:
    """{ x -> y : one cell, o(x) = o(y), x != y } is not empty."""
    pairs = body.same_iteration(one.relation.apply_range(other.relation.reverse()))
    if one.instances is other.instances:
        pairs = pairs.subtract(type(pairs).identity(pairs.get_space()))
    return not body.model.solver.is_empty(pairs)


def _is_contiguous(model: Model, reference: Reference) -> bool:
    """Whether the innermost loop in the indices steps along the last dimension."""
    rows = index_coefficients(model, reference.instances, reference.access)
    if rows is None:
        return False
    for loop in reversed(reference.instances.loops):
        factors = [row.get(loop.name, 0) for row in rows]
        if any(factors):
            return abs(factors[-1]) == 1 and not any(factors[:-1])
    return True
