"""Time skewing: permutable bands by skews and shifts, wavefronts of tiles, fronts.

`find_band` takes a `UnitNest` whose units share their outermost loops and returns a
`SkewedBand`: for each unit a vector P of affine positions that no dependence lets
decrease,

    { x -> y in dependences : P(y)_k < P(x)_k } = {}   for each position k.

so the positions may be cut into rectangular tiles, and tiles may run in any order that
respects all of them. Position k of a unit is

    l_k + sum over m < k of f_km * l_m + c_k

with l the unit's loops, factors f common to all units and a shift c per unit. The
smallest factors are searched; the shifts are longest paths in the graph of units, whose
edges hold how far a dependence reaches back.

`wavefront` tiles a band. With the sizes z, t_k = floor(P_k / z_k) and c chains, an
instance runs at

    (floor(P_0 / (c * z_0)), t_2, .., t_n, t_0 + t_1, t_0, its place inside the tile).

No dependence lets a t_k decrease, so tiles with equal t_0 + t_1 and different t_0 are
independent and run in parallel. The tiles with one t_0 are a chain: consecutive tiles
reuse most cells in the cache of the thread. Without a number of chains, all are started
together and the first position is left out.

`front` takes dependences and the depths of loops p and q, and finds factors (a, b) such
that every dependence carried by p or q goes from a smaller a*p + b*q to a larger one;
all executions with equal a*p + b*q are independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice, product

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.distances import Deltas, Distances, Factors, Pair
from gpucodegen.tiling.proof.legality import Refusal, check_schedule
from gpucodegen.tiling.proof.witness import find_witness
from gpucodegen.tiling.schedule.schedule import Schedule, UnitNest, compact, padded

LARGEST = 4
"""Steeper fronts hold too few executions to be of use."""


def front(
    model: Model, found: Sequence[Dependence], outer: int, inner: int
) -> tuple[int, int] | None:
    """The flattest front of the loops at two depths; None where there is none.

    A factor of 0 marks a loop that carries no dependence. With o the loops around the
    outer one and d = values of y minus values of x:

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


LARGEST_FACTOR = 4
"""Steeper skews leave tiles in which hardly any loop is parallel."""

MOST_ALIGNMENTS = 16
"""Ways to match the loops of short units with those of long ones that are tried."""


@dataclass(frozen=True, slots=True)
class SkewedBand:
    """Positions per unit, as isl text; factors per position, shifts per unit."""

    positions: Mapping[str, tuple[str, ...]]
    factors: tuple[Factors, ...]
    shifts: Mapping[str, tuple[int, ...]]

    @property
    def skewed(self) -> bool:
        """Whether any position differs from its loop."""
        moved = any(any(shift) for shift in self.shifts.values())
        return moved or any(any(row) for row in self.factors)


def find_band(
    nest: UnitNest, rows: Sequence[Factors] | None = None
) -> SkewedBand | Refusal:
    """The permutable positions with the smallest skews, or with factors ``rows``.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> reads = read("A", "i - 1"), read("A", "i + 1")
    >>> relax = Statement("S", (*reads, write("A", "i")))
    >>> chain = [Loop("t", "0", "T"), Loop("i", "1", "99")]
    >>> built = model(Scop(("T",), (), (Array("A", (100,)),), nest(chain, (relax,))))
    >>> line = UnitNest(built, dependences(built), (Unit(("S",)),))
    >>> find_band(line).positions
    {'S': ('t', 'i + t')}
    """
    depth = max(len(nest.instances(unit).loops) for unit in nest.units)
    refusal: Refusal | None = None
    deltas = Deltas.of(nest)
    for loops in _alignments(nest, depth):
        distances = deltas.between(loops)
        if distances is None:
            return _UNKNOWN
        search = _Search(nest, loops, distances)
        found = search.band(depth) if rows is None else search.fixed(tuple(rows), depth)
        if isinstance(found, SkewedBand):
            return found
        refusal = refusal or found
    return refusal or Refusal("no loop is around all of its statements")


_UNKNOWN = Refusal(
    "the distances of its dependences were not found in time", undecided=True
)


def skewed(nest: UnitNest, factors: Sequence[int] = ()) -> Schedule | Refusal:
    """The skewed band as a schedule: all units in common loops, in textual order.

    ``factors``: those of the second loop, of the third and so on, each with one factor
    for every loop further out; by default the smallest legal ones.
    """
    depth = max(len(nest.instances(unit).loops) for unit in nest.units)
    wanted = depth * (depth - 1) // 2
    if factors and len(factors) != wanted:
        return Refusal(f"{depth} loops take {wanted} factors, not {len(factors)}")
    band = find_band(nest, split_rows(factors) if factors else None)
    if isinstance(band, Refusal):
        return band
    positions = band.positions.items()
    inside = nest.original
    times = padded({name: (*p, *inside[name]) for name, p in positions})
    return nest.check(times) or nest.schedule(compact(times))


def split_rows(factors: Sequence[int]) -> tuple[Factors, ...]:
    """Splits a flat sequence into the rows of a lower triangle.

    >>> split_rows((1, 2, 1))
    ((), (1,), (2, 1))
    """
    rows: list[Factors] = [()]
    rest = tuple(factors)
    while rest:
        rows.append(rest[: len(rows)])
        rest = rest[len(rows) - 1 :]
    return tuple(rows)


def _alignments(nest: UnitNest, depth: int) -> Iterator[dict[str, tuple[str, ...]]]:
    """The loop of each unit at each position; "0" where the unit has none.

    The outermost loop is common; shorter units may leave out any of the others.
    """
    choices: list[list[tuple[str, ...]]] = []
    for unit in nest.units:
        names = [loop.name for loop in nest.instances(unit).loops]
        if not names:
            return
        places = combinations(range(1, depth), len(names) - 1)
        choices.append([_placed(names, (0, *kept), depth) for kept in places])
    if len({choice[0][0] for choice in choices}) > 1:
        return
    for chosen in islice(product(*choices), MOST_ALIGNMENTS):
        yield {u.name: loops for u, loops in zip(nest.units, chosen, strict=True)}


def _placed(names: Sequence[str], places: Sequence[int], depth: int) -> tuple[str, ...]:
    at = dict(zip(places, names, strict=True))
    return tuple(at.get(place, "0") for place in range(depth))


@dataclass(frozen=True, slots=True)
class _Search:
    """The smallest factors per position, and their shifts."""

    nest: UnitNest
    loops: Mapping[str, tuple[str, ...]]
    distances: Distances

    def band(self, depth: int) -> SkewedBand | Refusal:
        rows: list[Factors] = []
        for position in range(depth):
            row = next(
                (f for f in _rows(position) if self._shifts(f) is not None), None
            )
            if row is None:
                return Refusal(f"no skew makes loop {self._name(position)} permutable")
            rows.append(row)
        return self.fixed(tuple(rows), depth)

    def fixed(self, rows: tuple[Factors, ...], depth: int) -> SkewedBand | Refusal:
        """The band with these factors and the smallest shifts."""
        shifts: list[dict[str, int]] = []
        for position in range(depth):
            found = self._shifts(rows[position])
            if found is None:
                reason = (
                    f"a dependence points backward along loop {self._name(position)}"
                )
                return self._refused(reason, rows[position])
            shifts.append(found)
        names = [unit.name for unit in self.nest.units]
        return SkewedBand(
            {n: self._positions(n, rows, [s[n] for s in shifts]) for n in names},
            rows,
            {n: tuple(s[n] for s in shifts) for n in names},
        )

    def _positions(
        self, name: str, rows: Sequence[Factors], shifts: Sequence[int]
    ) -> tuple[str, ...]:
        loops = self.loops[name]
        return tuple(
            position_text(loops, row, shift)
            for row, shift in zip(rows, shifts, strict=True)
        )

    def _name(self, position: int) -> str:
        named = (loops[position] for loops in self.loops.values())
        return next((name for name in named if name != "0"), "?")

    def _shifts(self, row: Factors) -> dict[str, int] | None:
        """Smallest c >= 0 with c(y) - c(x) + reach >= 0 for all dependences x -> y."""
        reach: dict[Pair, int] = {}
        for pair, steps in self.distances.items():
            least = steps.least(row)
            if least is None:
                return None
            reach[pair] = least
        shifts = dict.fromkeys((unit.name for unit in self.nest.units), 0)
        for _ in shifts:
            changed = False
            for (source, sink), least in reach.items():
                needed = shifts[source] - least
                if shifts[sink] < needed:
                    shifts[sink], changed = needed, True
            if not changed:
                return shifts
        return None

    def _refused(self, reason: str, row: Factors) -> Refusal:
        """A refusal with a dependence of one unit that the row reverses."""
        position = len(row)
        for dependence, source, sink in self.nest.ordered():
            times = [
                self.nest.model.times(
                    end.instances.name,
                    (position_text(self.loops[unit.name][: position + 1], row, 0),),
                )
                for end, unit in ((dependence.source, source), (dependence.sink, sink))
            ]
            solver = self.nest.model.solver
            broken = solver.ask(
                lambda d=dependence, t=times: d.pairs.intersect(t[0].lex_gt_map(t[1])),
                None,
            )
            if source is sink and broken is not None and not solver.is_empty(broken):
                model, ends = self.nest.model, (dependence.source, dependence.sink)
                return Refusal(reason, dependence, find_witness(model, broken, *ends))
        return Refusal(reason)


def position_text(loops: Sequence[str], row: Factors, shift: int) -> str:
    """A position as isl text.

    >>> position_text(("t", "i", "j"), (2, 1), 0)
    'j + i + 2*t'
    """
    terms = [loops[len(row)]]
    for factor, loop in reversed(list(zip(row, loops, strict=False))):
        if factor and loop != "0":
            terms.append(loop if factor == 1 else f"{factor}*{loop}")
    if shift or terms == ["0"]:
        terms.append(str(shift))
    return " + ".join(terms[1:] if terms[0] == "0" and len(terms) > 1 else terms)


def _rows(position: int) -> list[Factors]:
    """All factors for one position, small ones first, then those of outer loops."""
    rows = product(range(LARGEST_FACTOR + 1), repeat=position)
    return sorted(rows, key=lambda row: (sum(row), row[::-1]))


def wavefront(
    nest: UnitNest, band: SkewedBand, sizes: Sequence[int], chains: int = 0
) -> Schedule | Refusal:
    """Tile the first ``len(sizes)`` positions of the band, at least two.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> from gpucodegen.tiling.schedule.skewing import find_band
    >>> reads = read("A", "i - 1"), read("A", "i + 1")
    >>> relax = Statement("S", (*reads, write("A", "i")))
    >>> chain = [Loop("t", "0", "T"), Loop("i", "1", "99")]
    >>> built = model(Scop(("T",), (), (Array("A", (100,)),), nest(chain, (relax,))))
    >>> line = UnitNest(built, dependences(built), (Unit(("S",)),))
    >>> schedule = wavefront(line, find_band(line), (8, 32))
    >>> schedule.times["S"][:2]
    ('floor((t)/8) + floor((i + t)/32)', 'floor((t)/8)')
    >>> schedule.names, sorted(schedule.parallel)
    (('wave', 't_tile', 't', 'i'), [1])
    >>> wavefront(line, find_band(line), (8, 32), chains=2).times["S"][:2]
    ('floor((t)/16)', 'floor((t)/8) + floor((i + t)/32)')
    """
    if len(sizes) < 2:
        return Refusal("a wavefront needs a size for the time loop and for one more")
    if any(len(positions) < len(sizes) for positions in band.positions.values()):
        return Refusal(f"its band has fewer than {len(sizes)} loops")
    diagonal = _diagonal(nest)
    inside = diagonal or nest.original
    tiles = {name: _tiles(p, sizes, chains) for name, p in band.positions.items()}
    times = compact(padded({n: (*tiles[n], *inside[n]) for n in tiles}))
    names = _names(nest, len(sizes), chains)
    schedule = nest.schedule(times, names, frozenset({len(names) - 1}))
    last = len(schedule.names) - 1
    return replace(schedule, strided=frozenset({last})) if diagonal else schedule


def _names(nest: UnitNest, tiled: int, chains: int) -> tuple[str, ...]:
    deepest = max((nest.instances(unit).loops for unit in nest.units), key=len)
    time, _, *others = (f"{loop.name}_tile" for loop in deepest[:tiled])
    rounds = [f"{deepest[0].name}_round"] if chains else []
    return (*rounds, *others, "wave", time)


def _tiles(
    positions: Sequence[str], sizes: Sequence[int], chains: int
) -> tuple[str, ...]:
    time, first, *others = (
        f"floor(({position})/{size})"
        for position, size in zip(positions, sizes, strict=False)
    )
    rounds = [f"floor(({positions[0]})/{chains * sizes[0]})"] if chains else []
    return (*rounds, *others, f"{time} + {first}", time)


def runs_diagonally(nest: UnitNest) -> bool:
    """Whether the points of a tile run along diagonals instead of rows."""
    return _diagonal(nest) is not None


def _diagonal(nest: UnitNest) -> dict[str, tuple[str, ...]] | None:
    """An order inside the tile whose innermost loop is parallel instead of a chain.

    A single unit of three or more loops, whose innermost one, j, carries a dependence,
    runs along (.., f*i + j, i) in place of (.., i, j), if some f makes i parallel
    there: its instances are then independent.
    """
    unit, *others = nest.units
    loops = [loop.name for loop in nest.instances(unit).loops]
    if others or len(loops) < 3 or not _chained(nest, loops[-1]):
        return None
    *outer, i, j = loops
    for factor in range(1, LARGEST_FACTOR + 1):
        hyperplane = (*outer, f"{j} + {factor}*{i}")
        if nest.check({unit.name: hyperplane}) is None:
            return {unit.name: (*hyperplane, i)}
    return None


def _chained(nest: UnitNest, loop: str) -> bool:
    carriers = (dependence.carrier for dependence in nest.dependences)
    return any(carrier and carrier.name == loop for carrier in carriers)
