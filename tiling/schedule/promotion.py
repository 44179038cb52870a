"""Scratchpad promotion: copies of array tiles in fast memory, with their copy loops.

`local_tiles` takes a `Model`, an array and the number of outer loops whose one
iteration works on a tile.  It returns a `LocalTile` per group of references, or the
`Refusal` of a group.  `footprints` gives the box of cells that each group touches in
one full tile, and `scan` the loop bounds that visit a set of cells.

For an iteration o of the outer loops let R(o), W(o) be the cells that the group reads
and writes, E(o) in R(o) those it reads before it has certainly written them, M(o) in
W(o) those it certainly writes. A buffer with corner L(o) and constant extents replaces
the array inside o, with copies from I(o) before and of O(o) after all accesses, if

    holds:    R(o) + W(o) + I(o) + O(o) within L(o) + [0, extents)
    takes in: E(o) + (O(o) - M(o)) within I(o)
    puts out: W(o) within O(o)
    apart:    no other access within o conflicts with a cell of the group, and
              none writes a cell of O(o).

I and O are scanned polyhedra.  A set that is no single polyhedron is scanned as the
smallest polyhedron described by the constraints of its parts (`hull`); extra cells of I
and O still lie in the array.  In `footprints`, the tile of loop l with size z and step
s is origin_l <= l < origin_l + z*s; loops outside of the tiled ones are fixed, loops
inside run over their whole range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.contraction import index_coefficients
from gpucodegen.tiling.model.isl import (
    PARAM,
    SET,
    BasicSet,
    Constraint,
    Map,
    Set,
    Solver,
)
from gpucodegen.tiling.model.isl_forms import affine_text
from gpucodegen.tiling.model.relations import Model, Reference, conjunction
from gpucodegen.tiling.model.scop import Loop
from gpucodegen.tiling.proof.flow import TileBody, certainly_writes
from gpucodegen.tiling.proof.legality import Refusal


@dataclass(frozen=True, slots=True)
class Linear:
    """``floor((sum of factor * name + constant) / divisor)``.

    >>> print(Linear((("t", 2), ("N", -1)), 3), Linear((("t", 1),), 0, 4))
    2*t - N + 3 floor((t)/4)
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0
    divisor: int = 1

    def __str__(self) -> str:
        parts = [(factor, f"*{name}") for name, factor in self.terms]
        parts += [(self.constant, "")] if self.constant or not parts else []
        signed = (f"{'-' if f < 0 else '+'} {abs(f)}{name}" for f, name in parts)
        text = " ".join(signed).replace(" 1*", " ").removeprefix("+ ")
        text = f"-{text[2:]}" if text.startswith("- ") else text
        return text if self.divisor == 1 else f"floor(({text})/{self.divisor})"

    @property
    def names(self) -> frozenset[str]:
        """The parameters and dimensions in it."""
        return frozenset(name for name, _ in self.terms)


@dataclass(frozen=True, slots=True)
class ScannedRange:
    """From the largest of ``lowers`` to the smallest of ``uppers``, exclusive."""

    lowers: tuple[Linear, ...]
    uppers: tuple[Linear, ...]


def scan(solver: Solver, cells: Set, context: Set) -> tuple[ScannedRange, ...] | None:
    """Bounds of loops that visit ``cells``, one range per dimension ``c0``, ``c1``, ...

    None if a dimension is unbounded.  ``context``: constraints on the parameters under
    which the bounds have to hold.

    >>> solver = Solver()
    >>> text = "[t, N] -> { [i, j] : t <= i < t + 4 and i < N and 0 <= j <= i }"
    >>> i, j = scan(solver, solver.set(text), solver.set("[t, N] -> { : 0 <= t < N }"))
    >>> [str(bound) for bound in (*i.lowers, *i.uppers)]
    ['t', 't + 4', 'N']
    >>> [str(bound) for bound in (*j.lowers, *j.uppers)]
    ['0', 'c0 + 1']
    """
    return solver.ask(lambda: _ranges(cells, context), None)


def scanned(
    solver: Solver, ranges: Sequence[ScannedRange], parameters: Sequence[str]
) -> Set:
    """The set of cells that loops with these bounds visit."""
    names = [f"c{d}" for d in range(len(ranges))]
    held = [
        f"{name} {relation} {bound}"
        for name, range_ in zip(names, ranges, strict=True)
        for relation, bounds in ((">=", range_.lowers), ("<", range_.uppers))
        for bound in bounds
    ]
    tuple_ = f"[{', '.join(names)}]"
    inside = " and ".join(held) or "1 = 1"
    return solver.set(f"[{', '.join(parameters)}] -> {{ {tuple_} : {inside} }}")


def hull(cells: Set) -> BasicSet:
    """A polyhedron around ``cells``, described by the constraints of its parts."""
    return cells.remove_divs().coalesce().simple_hull()


def lower_bounds(
    solver: Solver, cells: Set, context: Set, d: int
) -> tuple[Linear, ...]:
    """Lower bounds of ``cells`` along dimension ``d``, as functions of parameters."""

    def query() -> tuple[Linear, ...]:
        rank = cells.dim(SET)
        line = cells.project_out(SET, d + 1, rank - d - 1).project_out(SET, 0, d)
        (range_,) = _ranges(line, context) or (ScannedRange((), ()),)
        return range_.lowers

    return solver.ask(query, ())


def _ranges(cells: Set, context: Set) -> tuple[ScannedRange, ...] | None:
    whole = hull(cells)
    rank = whole.dim(SET)
    ranges: list[ScannedRange] = []
    for d in range(rank):
        known = hull(context).add_dims(SET, d + 1)
        prefix = whole.project_out(SET, d + 1, rank - d - 1).remove_divs()
        range_ = _range(prefix.gist(known).remove_redundancies(), d)
        if not range_.lowers or not range_.uppers:
            return None
        ranges.append(range_)
    return tuple(ranges)


def _range(prefix: BasicSet, d: int) -> ScannedRange:
    """The constraints on dimension ``d``: factor * c_d + rest >= 0, or = 0."""
    lowers: list[Linear] = []
    uppers: list[Linear] = []
    for constraint in prefix.get_constraints():
        factor = constraint.get_coefficient_val(SET, d).to_python()
        rest = _rest(constraint, d)
        for sign in (1, -1) if constraint.is_equality() else (1,):
            signed = replace(
                rest,
                terms=tuple((n, f * sign) for n, f in rest.terms),
                constant=rest.constant * sign,
            )
            if factor * sign > 0:
                lowers.append(_at_least(signed, factor * sign))
            elif factor * sign < 0:
                uppers.append(_at_most(signed, -factor * sign))
    return ScannedRange(tuple(dict.fromkeys(lowers)), tuple(dict.fromkeys(uppers)))


def _at_least(rest: Linear, factor: int) -> Linear:
    """factor * c + rest >= 0:  c >= ceil(-rest / factor)."""
    terms = tuple((name, -f) for name, f in rest.terms)
    return Linear(terms, factor - 1 - rest.constant, factor)


def _at_most(rest: Linear, factor: int) -> Linear:
    """rest - factor * c >= 0:  c < floor((rest + factor) / factor)."""
    return Linear(rest.terms, rest.constant + factor, factor)


def _rest(constraint: Constraint, d: int) -> Linear:
    """A constraint without its term in dimension ``d``."""
    terms: list[tuple[str, int]] = []
    space = constraint.get_space()
    for kind in (PARAM, SET):
        for i in range(space.dim(kind)):
            factor = constraint.get_coefficient_val(kind, i).to_python()
            if factor and (kind, i) != (SET, d):
                name = space.get_dim_name(PARAM, i) if kind == PARAM else f"c{i}"
                terms.append((str(name), factor))
    constant = constraint.get_constant_val().to_python()
    return Linear(tuple(terms), constant)


ORIGIN = "__o_"


@dataclass(frozen=True, slots=True)
class Footprint:
    """The box of an array that the tile with origins ``__o_<loop>`` touches.

    ``lower`` is isl text over parameters and origins, None where it is not affine; an
    extent is None where it is not bounded.
    """

    array: str
    references: tuple[Reference, ...]
    lower: tuple[str | None, ...]
    extent: tuple[int | None, ...]

    @property
    def cells(self) -> int | None:
        total = 1
        for extent in self.extent:
            if extent is None:
                return None
            total *= extent
        return total


def footprints(
    model: Model, array: str, sizes: Mapping[str, int]
) -> tuple[Footprint, ...]:
    """The boxes of ``array`` for one tile.

    References whose indices differ by constants only form one group.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest, read
    >>> blur = Statement("S", (read("A", "i - 1"), read("A", "i"), read("A", "i + 1")))
    >>> body = nest([Loop("i", "1", "N - 1")], (blur,))
    >>> built = model(Scop(("N",), (), (Array("A", ("N",)),), body))
    >>> (box,) = footprints(built, "A", {"i": 32})
    >>> box.lower, box.extent
    (('-1 + __o_i',), (34,))
    """
    references = [r for r in model.references if r.access.array == array]
    groups: dict[object, list[Reference]] = {}
    for reference in references:
        groups.setdefault(_shape(model, reference), []).append(reference)
    return tuple(_footprint(model, array, group, sizes) for group in groups.values())


def _shape(model: Model, reference: Reference) -> object:
    """A key that is equal for the references of one group."""
    rows = index_coefficients(model, reference.instances, reference.access)
    if rows is None:
        return id(reference)
    return tuple(tuple(sorted(row.items())) for row in rows)


def _footprint(
    model: Model, array: str, group: Sequence[Reference], sizes: Mapping[str, int]
) -> Footprint:
    """Extent: max { c' - c : c, c' in cells } + 1 per dimension."""
    cells = _cells(model, group[0], sizes)
    for reference in group[1:]:
        cells = cells.union(_cells(model, reference, sizes))
    rank = range(len(group[0].access.indices))
    lower = tuple(
        model.solver.ask(lambda d=d: affine_text(cells.dim_min(d)), None) for d in rank
    )
    spread = model.solver.ask(
        lambda: Map.from_domain_and_range(cells, cells).deltas(), None
    )
    widths = [
        None if spread is None else model.solver.interval(spread, d) for d in rank
    ]
    extent = tuple(
        None if width is None or width.upper is None else width.upper + 1
        for width in widths
    )
    return Footprint(array, tuple(group), lower, extent)


def _cells(model: Model, reference: Reference, sizes: Mapping[str, int]) -> Set:
    """{ cell : a value in the tile accesses it }, origins as parameters."""
    loops = reference.instances.loops
    tiled = [d for d, loop in enumerate(loops) if loop.name in sizes]
    first = tiled[0] if tiled else len(loops)
    origins = [ORIGIN + loop.name for loop in loops]
    inside = [
        _extent(loop, origin, sizes.get(loop.name), fixed=d < first)
        for d, (loop, origin) in enumerate(zip(loops, origins, strict=True))
    ]
    access = reference.access
    cell = [f"__c{d}" for d in range(len(access.indices))]
    touched = [
        f"{c} = {index}"
        for c, index in zip(cell, access.indices, strict=True)
        if index is not None
    ]
    local = [loop.name for loop in loops] + [name for name, _ in access.span]
    constraints = conjunction((*inside, *touched, *access.ranges))
    body = f"exists {', '.join(local)} : ({constraints})" if local else constraints
    parameters = ", ".join([*model.scop.parameters, *origins])
    return model.solver.set(f"[{parameters}] -> {{ [{', '.join(cell)}] : {body} }}")


def _extent(loop: Loop, origin: str, size: int | None, *, fixed: bool) -> str:
    if fixed:
        return f"{loop.name} = {origin}"
    if size is None:
        bounds = [f"{loop.name} >= {bound}" for bound in loop.lowers]
        bounds += [f"{loop.name} < {bound}" for bound in loop.uppers]
        return " and ".join(bounds) or "1 = 1"
    trip = f"0 <= __k < {size} and {loop.name} = {origin} + {loop.step}*__k"
    return f"exists __k : ({trip})"


@dataclass(frozen=True, slots=True)
class LocalTile:
    """A buffer for the cells that some references touch in one outer iteration.

    ``corner``: the cell at the buffer's first element; ``copy_in`` and ``copy_out``:
    bounds of the array's dimensions ``c0``, ``c1``, ..., None where nothing is copied.
    ``reused``: several instances access one cell.  ``contiguous``: the innermost loop
    in the indices moves the reference by one cell.
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
        return prod(self.extents)

    @property
    def pays(self) -> bool:
        """Whether a copy pays by PPCG's rule: reuse, or non-contiguous accesses."""
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
    """Unites groups of references while two conflict or one box is smaller than two."""
    for one, other in combinations(groups, 2):
        if _belong_together(body, one, other):
            rest = [g for g in groups if g is not one and g is not other]
            both = sorted((*one, *other), key=lambda r: (r.instances.order, r.position))
            return _merged(body, [tuple(both), *rest])
    return sorted(groups, key=lambda g: (g[0].instances.order, g[0].position))


def _belong_together(body: TileBody, one: Group, other: Group) -> bool:
    """Whether two groups must share a buffer, or one box of both is smaller.

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
    """The cells of the ranges in the iterations of the outer loops."""
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
