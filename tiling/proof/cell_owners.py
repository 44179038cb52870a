"""Proof that one thread of one block owns each cell of an array in global memory.

With B the block and T the thread of an execution, an array has single owners if

    { x -> y : x and y access one cell, one writes, (B, T) of x and y differ } = {},

which implies the rules ``blocks``, ``grid`` and ``threads`` of `races`, wherever
barriers are.  The proof needs no isl.

Each index is split into a sum F_d = G_d + H_d.  G_d has the terms with block variables,
or with variables of loops that occur in one term with these; H_d has the others.  Let
all accesses have the same G (over loops of the same bounds), let H_d be in an interval
of w_d integers over all accesses, and let g_d be the greatest common divisor of the
differences of the values of G_d.  If g_d = 0 or g_d >= w_d for each d, then

    F = F'  iff  G = G' and H = H',

because |H_d - H_d'| < w_d, and G_d' - G_d is a multiple of g_d.  Then single owners
follow from

    G = G' implies B = B', for all blocks and iterations of these loops,
    H = H', one of the two a write, implies T = T', for all threads and iterations.

Extents of the grid need not be known where G_d = c*b + p, with b a block variable that
no other index has in another form, and p of parameters alone: then g_d = |c|.  Where
this fails, two indices a floor(x/n) and c (x mod n) count as one index a c x.

Accesses in branches that need different values of a block variable are apart if some
index is r + g i in one, s + h i in the other, and gcd(g, h) does not divide r - s.  In
a branch the variable has one value.

Both are enumerated.  Conditions on anything but threads and the loops of H are taken as
true, and so are unknown ones: this only adds accesses.

`tiling_of` proves less: each iteration of a block accesses tiles of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from functools import lru_cache
from itertools import combinations, product
from math import gcd, lcm, prod
from types import CodeType
from typing import TypeAlias

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl_evaluation import (
    Environment,
    Integers,
    Sum,
    UndecidedError,
    compiled,
    evaluated,
    formula,
    names,
    quotients,
    renamed,
    sum_of,
)
from gpucodegen.tiling.model.scop import Loop
from gpucodegen.tiling.proof.kernel_accesses import (
    MOST_POINTS,
    Budget,
    KernelAccesses,
    Range,
    Use,
    check_bounds,
    held,
    points,
    spans,
    steps,
)

MOST_CELLS = 1 << 22
"""Cells of a tile, as a table of owners."""


@dataclass(frozen=True, slots=True)
class Owners:
    """The thread that writes each cell, -1 for none."""

    threads: Integers

    @staticmethod
    def of(cells: int, writes: Iterable[tuple[Integers, Integers]]) -> Owners:
        """From (cells, threads) of writes; raise UndecidedError if two write one."""
        owners = Owners(np.full(cells, -1, np.int64))
        for written, threads in writes:
            owners.check(written, threads)
            owners.threads[written] = threads
            owners.check(written, threads)
        return owners

    def check(self, cells: Integers, threads: Integers) -> None:
        """Raise UndecidedError if another thread writes one of the cells."""
        found = self.threads[cells]
        if ((found >= 0) & (found != threads)).any():
            raise UndecidedError("two threads use one cell")


Tile = tuple[tuple[tuple[str, int], ...], ...]
"""G: the factors of its terms, for each dimension."""


@dataclass(frozen=True, slots=True)
class _Split:
    """An access as G + H.

    ``outer``: the loops of G, outermost first, whose variables are called ``loop 0``,
    ``loop 1``, ... in ``tile``, so that accesses in different loops can have one G.
    """

    use: Use
    outer: tuple[Loop, ...]
    tile: Tile
    atoms: dict[str, ast.expr]
    offsets: tuple[Sum, ...]

    @property
    def bounds(self) -> object:
        return tuple((loop.lowers, loop.uppers, loop.step) for loop in self.outer)


def check_owners(kernel: KernelAccesses, array: str, uses: Sequence[Use]) -> None:
    """Raise UndecidedError unless each cell of an array is proven to have one owner.

    ``uses``: all accesses to the array.
    """
    if not all(use.is_plain for use in uses):
        raise UndecidedError("copies")
    branches = _branches(kernel, uses)
    for fixed, own in branches.items():
        blocks = {**kernel.blocks, **{name: 1 for name, _ in fixed}}
        alone = replace(kernel, blocks=blocks)
        found = _splits(alone, array, own)
        widths = _check_threads(found, _offset_tables(alone, found))
        _check_blocks(alone, found[0], widths)
    classes = [{_residues(_sums(use)) for use in own} for own in branches.values()]
    for one, other in combinations(classes, 2):
        if not all(_are_apart(a, b) for a, b in product(one, other)):
            raise UndecidedError("two branches use one cell")


MOST_BRANCHES = 64
"""Extent of a block variable that may choose a branch of the kernel."""


def _branches(
    kernel: KernelAccesses, uses: Sequence[Use]
) -> dict[tuple[tuple[str, int], ...], list[Use]]:
    """The accesses by the only values of block variables with which they run.

    Variables that an index or the bound of a loop mentions do not count.
    """
    found: dict[tuple[tuple[str, int], ...], list[Use]] = {}
    for use in uses:
        bounds = (t for loop in use.loops for t in (*loop.lowers, *loop.uppers))
        used = frozenset[str]().union(*(formula(t).variables for t in bounds))
        used |= {n for one in _sums(use) for a in one.atoms.values() for n in names(a)}
        unused = ((name, n) for name, n in kernel.blocks.items() if name not in used)
        values = ((name, _only_value(use, name, n)) for name, n in unused)
        fixed = tuple((name, n) for name, n in values if n is not None)
        found.setdefault(fixed, []).append(use)
    return found


def _only_value(use: Use, name: str, extent: int | None) -> int | None:
    """The value of a block variable that the conditions around an access require."""
    if extent is None or not 1 < extent <= MOST_BRANCHES:
        return None
    alone = [
        text
        for condition in use.conditions
        if condition.holds
        for text in condition.constraints or ()
        if _variables(text) == frozenset({name})
    ]
    (values,) = np.nonzero(held(alone, {name: np.arange(extent)}, (extent,)))
    return int(values[0]) if len(values) == 1 else None


_Residues: TypeAlias = tuple[tuple[int, int], ...]
"""For each dimension r and g: all indices are r modulo g, or r if g is 0."""


def _residues(sums: Sequence[Sum]) -> _Residues:
    steps = [gcd(*one.factors.values()) for one in sums]
    pairs = zip(sums, steps, strict=True)
    return tuple((s.constant % g if g else s.constant, g) for s, g in pairs)


def _are_apart(one: _Residues, other: _Residues) -> bool:
    """Whether indices of some dimension never meet, by the test of divisors."""
    found = [(r - s, gcd(g, h)) for (r, g), (s, h) in zip(one, other, strict=True)]
    return any(far % g if g else far for far, g in found)


@dataclass(frozen=True, slots=True)
class Tiling:
    """An array as disjoint tiles, each accessed in one iteration of one block.

    ``indices``: by statement and identity of the access, the variables of the loops
    that select the tile, and the offsets in it; ``extents``: bounds of these.
    """

    indices: dict[tuple[str, int], tuple[ast.expr, ...]]
    extents: tuple[int, ...]


def tiling_of(kernel: KernelAccesses, array: str, uses: Sequence[Use]) -> Tiling:
    """Raise UndecidedError unless an array is accessed in disjoint tiles.

    As for single owners, F = F' iff G = G' and H = H'.  If moreover G = G' implies that
    block and iteration of the loops of G are the same, then these and H identify a
    cell.  Accesses of one block conflict iff these loops and H agree, and accesses of
    different blocks never do.
    """
    found = _splits(kernel, array, uses)
    widths, lows = _widths(found, _offset_tables(kernel, found))
    _check_blocks(kernel, found[0], widths, with_loops=True)
    outer = found[0].outer
    every = frozenset({f"loop {n}" for n in range(len(outer))})
    known = kernel.blocks.keys() - kernel.unknown
    values, _ = _tiles(kernel, outer, every | known)
    extents = [int(values[f"loop {n}"].max(initial=0)) + 1 for n in range(len(outer))]
    if any(int(values[f"loop {n}"].min(initial=0)) < 0 for n in range(len(outer))):
        raise UndecidedError("loops of tiles from below 0")
    indices = {
        (split.use.statement.name, id(split.use.access)): (
            *(ast.Name(loop.name, ast.Load()) for loop in split.outer),
            *(o.expression(-low) for o, low in zip(split.offsets, lows, strict=True)),
        )
        for split in found
    }
    return Tiling(indices, (*extents, *widths))


def _splits(kernel: KernelAccesses, array: str, uses: Sequence[Use]) -> list[_Split]:
    """All accesses to an array as G + H, with one G."""
    if kernel.arrays[array].scope:
        raise UndecidedError("not one array for all blocks")
    sums = [_sums(use) for use in uses]
    tried = [sums, _joined(sums, frozenset(kernel.blocks)), _joined(sums)]
    for n, each in enumerate(tried):
        try:
            return _with_one_tile(kernel, uses, each)
        except UndecidedError:
            if each == tried[-1] or n == len(tried) - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _with_one_tile(
    kernel: KernelAccesses, uses: Sequence[Use], sums: Sequence[tuple[Sum, ...]]
) -> list[_Split]:
    met = _met_by_blocks(kernel, uses, sums)
    found = [_split(use, each, met) for use, each in zip(uses, sums, strict=True)]
    first = found[0]
    if any((s.tile, s.bounds) != (first.tile, first.bounds) for s in found):
        raise UndecidedError("accesses with different tiles")
    return found


def _joined(
    sums: list[tuple[Sum, ...]], moved_by: frozenset[str] | None = None
) -> list[tuple[Sum, ...]]:
    """Indices q = a floor(x/n) + ... and r = c (x mod n) + ... become c n q + a r.

    That is a c x + ..  Equal q and r have equal c n q + a r, so this only adds
    conflicts, whatever q and r are in other accesses.  ``moved_by``: variables of
    which x has one, if not any.
    """
    for d, index in enumerate(sums[0]):
        for text, dividend, number in index.remainders:
            if moved_by is not None and moved_by.isdisjoint(names(dividend)):
                continue
            wanted = set(quotients(dividend, number))
            for q, other in enumerate(sums[0]):
                for t in wanted & other.factors.keys() if q != d else ():
                    inner, outer = index.factors[text], other.factors[t]
                    times = lcm(inner, outer)
                    if inner > 0 and outer > 0:
                        by = number * times // outer, times // inner
                        join = _Join((q, d), by)
                        return _joined(list(map(join.of, sums)), moved_by)
    return sums


@dataclass(frozen=True, slots=True)
class _Join:
    """Replaces two of some indices by the sum of their multiples.

    ``which``: their dimensions, in the second of which the sum is; ``by``: the factors.
    ``known``: sums by the factors of both indices.  Accesses of one thread often differ
    by constants alone, which no remainder of a whole sum depends on.
    """

    which: tuple[int, int]
    by: tuple[int, int]
    known: dict[tuple[frozenset[tuple[str, int]], ...], Sum] = field(
        default_factory=dict[tuple[frozenset[tuple[str, int]], ...], Sum]
    )

    def of(self, sums: tuple[Sum, ...]) -> tuple[Sum, ...]:
        q, r = self.which
        joined = self._joined(sums[q], sums[r])
        if not joined.fits:
            raise UndecidedError("large indices")
        return tuple(joined if d == r else one for d, one in enumerate(sums) if d != q)

    def _joined(self, first: Sum, second: Sum) -> Sum:
        outer, inner = self.by
        key = frozenset(first.factors.items()), frozenset(second.factors.items())
        if key not in self.known:
            terms = [replace(one, constant=0) for one in (first, second)]
            whole = Sum(0, {}, {}).plus(terms[1], inner).plus(terms[0], outer)
            self.known[key] = whole.without_remainders()
        found = self.known[key]
        more = outer * first.constant + inner * second.constant
        return replace(found, constant=found.constant + more)


def _sums(use: Use) -> tuple[Sum, ...]:
    known = [index for index in use.access.indices if index is not None]
    if len(known) < len(use.access.indices):
        raise UndecidedError("an unknown index")
    return tuple(map(sum_of, known))


def _met_by_blocks(
    kernel: KernelAccesses, uses: Sequence[Use], sums: Sequence[Sequence[Sum]]
) -> frozenset[str]:
    """Blocks, parameters, and loop variables in one term with them or with such."""
    loops = {loop.name for use in uses for loop in use.loops}
    terms = {names(a) for each in sums for one in each for a in one.atoms.values()}
    met = kernel.parameters | kernel.blocks.keys()
    while True:
        more = met.union(*(term & loops for term in terms if term & met))
        if more == met:
            return met
        met = more


def _split(use: Use, sums: Sequence[Sum], met: frozenset[str]) -> _Split:
    outer = tuple(loop for loop in use.loops if loop.name in met)
    new = {loop.name: f"loop {n}" for n, loop in enumerate(outer)}
    tile, offsets = list[tuple[tuple[str, int], ...]](), list[Sum]()
    atoms = dict[str, ast.expr]()
    for one in sums:
        inside, factors = dict[str, int](), dict[str, int]()
        for text, atom in one.atoms.items():
            if names(atom) & met:
                if not names(atom) <= met:
                    raise UndecidedError(f"blocks and threads in {text}")
                renaming = renamed(atom, new)
                key = ast.unparse(renaming)
                atoms[key] = renaming
                inside[key] = inside.get(key, 0) + one.factors[text]
            else:
                factors[text] = one.factors[text]
        tile.append(tuple(sorted(item for item in inside.items() if item[1])))
        offsets.append(Sum(one.constant, factors, one.atoms))
    return _Split(use, outer, tuple(tile), atoms, tuple(offsets))


_Offsets: TypeAlias = list[tuple[Integers, Integers]]
"""For each access the values of H, by dimension, and the threads."""


def _offset_tables(kernel: KernelAccesses, found: Sequence[_Split]) -> _Offsets:
    budget = Budget()
    return [_offsets(kernel, split, budget) for split in found]


def _widths(found: Sequence[_Split], tables: _Offsets) -> tuple[list[int], list[int]]:
    """The widths w of H, and its least values."""
    rank = len(found[0].tile)
    reached = [values for values, threads in tables if threads.size]
    lows = [min((int(v[d].min()) for v in reached), default=0) for d in range(rank)]
    highs = [max((int(v[d].max()) for v in reached), default=0) for d in range(rank)]
    widths = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
    if prod(widths) > MOST_CELLS:
        raise UndecidedError("a large tile")
    return widths, lows


def _check_threads(found: Sequence[_Split], tables: _Offsets) -> list[int]:
    """H = H' implies T = T'; the widths w of H."""
    widths, lows = _widths(found, tables)

    def cells(values: Integers) -> Integers:
        flat = np.zeros(values.shape[1:], np.int64)
        for value, low, width in zip(values, lows, widths, strict=True):
            flat = flat * width + (value - low)
        return flat

    accesses = [
        (s.use.access, cells(v), t) for s, (v, t) in zip(found, tables, strict=True)
    ]
    writes = ((where, threads) for access, where, threads in accesses if access.writes)
    owners = Owners.of(prod(widths), writes)
    for access, where, threads in accesses:
        if not access.writes:
            owners.check(where, threads)
    return widths


def _offsets(
    kernel: KernelAccesses, split: _Split, budget: Budget
) -> tuple[Integers, Integers]:
    """H of all threads and iterations (by dimension), and the threads."""
    use = split.use
    inner = [loop for loop in use.loops if loop not in split.outer]
    local = {loop.name for loop in inner} | kernel.threads.keys()
    decided = [
        condition
        for condition in use.conditions
        if condition.constraints is not None
        and all(_variables(text) <= local for text in condition.constraints)
    ]
    mentioned = {
        name
        for one in split.offsets
        for text in one.factors
        for name in names(one.atoms[text])
    }.union(*(_variables(t) for c in decided for t in c.constraints or ()))
    ranges = [Range.of(loop) for loop in inner if loop.name in mentioned]
    values, mask = points(kernel, ranges, spans(use.access), {})
    shape = mask.shape
    budget.spend(prod(shape) * (len(split.offsets) + 1))
    for condition in decided:
        mask &= held(condition.constraints or (), values, shape) == condition.holds
    found = [_total(one, values, shape)[mask] for one in split.offsets]
    numbers = kernel.numbers.reshape(-1, *(1,) * (len(shape) - 1))
    threads = np.broadcast_to(numbers, shape)[mask]
    return np.array(found, np.int64).reshape(len(found), threads.size), threads


@lru_cache(maxsize=8192)
def _code(text: str) -> CodeType:
    """The code of an atom of an access, as `compiled` gives it."""
    return compile(text, "isl", "eval")


@lru_cache(maxsize=8192)
def _variables(constraint: str) -> frozenset[str]:
    return formula(constraint, is_constraint=True).variables


def _total(one: Sum, values: Environment, shape: tuple[int, ...]) -> Integers:
    total = np.full(shape, one.constant, np.int64)
    for text, factor in one.factors.items():
        atom = one.atoms[text]
        if not names(atom) <= values.keys():
            raise UndecidedError(f"a variable of {text}")
        total += factor * evaluated(_code(text), values)
    return total


def _check_blocks(
    kernel: KernelAccesses,
    split: _Split,
    widths: Sequence[int],
    *,
    with_loops: bool = False,
) -> None:
    """G = G' implies B = B', and the values of G are at least w apart.

    Dimensions that share variables are enumerated together; G = G' in these implies
    that their block variables are equal, and ``with_loops`` that all of them are.
    """
    used = [
        frozenset[str]().union(*(names(split.atoms[text]) for text, _ in terms))
        - kernel.parameters
        for terms in split.tile
    ]
    parts = _connected(used)
    several = {name for name, extent in kernel.blocks.items() if extent != 1}
    if with_loops:
        several |= {f"loop {n}" for n in range(len(split.outer))}
    if not several <= set[str]().union(*(variables for variables, _ in parts)):
        raise UndecidedError("a block variable that selects no tile")
    for variables, dimensions in parts:
        if variables & kernel.unknown:
            _check_open(split, variables, [(d, widths[d]) for d in dimensions])
            continue
        values, block = _tiles(kernel, split.outer, variables)
        if with_loops:
            block = np.arange(len(block))
        rows = [_tile_index(kernel, split, d, values) for d in dimensions]
        for d, row in zip(dimensions, rows, strict=True):
            step = int(np.gcd.reduce(row - row[0])) if row.size else 0
            if 0 < step < widths[d]:
                raise UndecidedError("tiles that overlap")
        table = np.stack([*rows, block])
        table = table[:, np.lexsort(table[::-1])]
        is_same = (table[:-1, 1:] == table[:-1, :-1]).all(axis=0)
        if (is_same & (table[-1, 1:] != table[-1, :-1])).any():
            raise UndecidedError("two blocks with one tile")


def _connected(used: Sequence[frozenset[str]]) -> list[tuple[set[str], list[int]]]:
    """Dimensions in groups that share no variable, with the variables."""
    parts: list[tuple[set[str], list[int]]] = []
    for d, variables in enumerate(used):
        if variables:
            joined, dimensions = set(variables), [d]
            rest: list[tuple[set[str], list[int]]] = []
            for part in parts:
                if part[0] & variables:
                    joined |= part[0]
                    dimensions += part[1]
                else:
                    rest.append(part)
            parts = [*rest, (joined, dimensions)]
    return parts


def _tiles(
    kernel: KernelAccesses, outer: Sequence[Loop], variables: AbstractSet[str]
) -> tuple[dict[str, Integers], Integers]:
    """All values of some block and loop variables, and the number of the block."""
    blocks = sorted(variables & kernel.blocks.keys())
    values, count = kernel.all_blocks(blocks)
    block = np.arange(count)
    for n, loop in enumerate(outer):
        if f"loop {n}" not in variables:
            continue
        lower = np.max([_bound(text, values, block) for text in loop.lowers], axis=0)
        upper = np.min([_bound(text, values, block) for text in loop.uppers], axis=0)
        extent = int((upper - lower).max(initial=0))
        trips = steps(0, extent, loop.step)
        if trips.size * block.size > MOST_POINTS:
            raise UndecidedError("too many tiles")
        check_bounds(int(lower.min(initial=0)), int(upper.max(initial=0)))
        value = lower[:, None] + trips
        is_run = value < upper[:, None]
        values = {
            name: np.broadcast_to(each[:, None], value.shape)[is_run]
            for name, each in values.items()
        }
        block = np.broadcast_to(block[:, None], value.shape)[is_run]
        values[f"loop {n}"] = value[is_run]
    return values, block


def _bound(text: str, values: dict[str, Integers], like: Integers) -> Integers:
    bound = formula(text)
    if not bound.variables <= values.keys():
        raise UndecidedError(text)
    return np.broadcast_to(np.asarray(bound.value(values), np.int64), like.shape)


def _tile_index(
    kernel: KernelAccesses, split: _Split, d: int, values: dict[str, Integers]
) -> Integers:
    """G along a dimension; parts of parameters alone are equal everywhere."""
    total = np.zeros(len(next(iter(values.values()))), np.int64)
    for text, factor in split.tile[d]:
        used = names(split.atoms[text])
        if not used <= kernel.parameters:
            if not used <= values.keys():
                raise UndecidedError(text)
            total += factor * evaluated(compiled(split.atoms[text]), values)
    return total


def _check_open(
    split: _Split, variables: set[str], dimensions: Sequence[tuple[int, int]]
) -> None:
    """The same for one block variable b of any value, as G = c*b with |c| >= w."""
    for d, width in dimensions:
        factors = {t: f for t, f in split.tile[d] if names(split.atoms[t]) & variables}
        if len(variables) > 1 or factors.keys() != variables:
            raise UndecidedError("tiles of an unknown number of blocks")
        if abs(sum(factors.values())) < width:
            raise UndecidedError("tiles that overlap")
