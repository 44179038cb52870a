"""Halos: how far values travel over the cells of a grid in one function.

`halo_of` takes a `Model` of a function, in which all arrays of one rank are grids, and
the known trip counts.  It returns a `Halo`: per dimension, the range of distances of
the input cells that a cell of the result depends on (the dependence cone), and the
width of the border that is not computed.  Cells of all grids are related to those of
the input arrays:

    cone(a) = cone(a) + { W(x) -> c : x in domain(S), r in S, (R_r(x), c) in cone }

for every statement S that writes a by W, in program order.  Scalars that statements
around S read in the same iteration count as read by S.  A loop that carries a
read-after-write dependence repeats its body until nothing changes, or as often as it
runs.  A cone only grows and is kept as a box, so the result is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Interval, Map, Set
from gpucodegen.tiling.model.relations import Instances, Model, conjunction, header
from gpucodegen.tiling.model.scop import If, Loop, Node
from gpucodegen.tiling.proof.dependences import Kind, dependences

MOST_TRIPS = 10_000
"""Iterations of a loop that are followed one by one."""
Box = tuple[Interval, ...]


class Unbounded(ValueError):
    """Values travel further than any block is wide; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Halo:
    """The halo of a result and its uncomputed border.

    ``cells``: per dimension, the least and greatest distance of the cells that one
    depends on. ``border``: per dimension, the cells at either end that are not
    computed.
    """

    cells: tuple[tuple[int, int], ...]
    border: tuple[int, ...]

    def depth(self, steps: int) -> tuple[int, ...]:
        """The halo of so many steps, per dimension and side.

        >>> Halo(((-1, 2), (0, 0)), (1, 0)).depth(3), Halo(((-1, 1),), (2,)).depth(3)
        ((6, 0), (4,))
        """
        widest = [max(-low, high) for low, high in self.cells]
        pairs = zip(widest, self.border, strict=True)
        return tuple(
            most * steps + max(0, border - most) if steps and most else 0
            for most, border in pairs
        )


def halo_of(
    built: Model, grids: Sequence[str], result: str, values: Mapping[str, int]
) -> Halo:
    """The halo of ``result`` in the input ``grids``.

    ``values``: known parameters, such as a number of steps. Raises `Unbounded`.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> blur = Statement("S", (read("A", "i - 1"), read("A", "i + 2"), write("B", "i")))
    >>> body = nest([Loop("i", "1", "N - 2")], (blur,))
    >>> arrays = Array("A", ("N",)), Array("B", ("N",))
    >>> halo_of(model(Scop(("N",), ("N > 9",), arrays, body)), ["A", "B"], "B", {})
    Halo(cells=((-1, 2),), border=(2,))
    """
    walk = _Walk(built, tuple(grids), values)
    walk.nodes(built.scop.body)
    found = walk.box(result)
    cells = tuple((min(0, each.lower or 0), max(0, each.upper or 0)) for each in found)
    return Halo(cells, tuple(_borders(built, walk.rank)))


@dataclass(slots=True)
class _Walk:
    """Follows values through the statements of a model, in program order."""

    built: Model
    grids: tuple[str, ...]
    values: Mapping[str, int]
    cones: dict[str, Map] = field(default_factory=dict[str, Map])
    carriers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Each cell of an input grid depends on itself."""
        zero = (Interval(0, 0),) * self.rank
        self.cones.update((name, self._of_box(zero)) for name in self.grids)
        carried = (
            d.carrier.name
            for d in dependences(self.built)
            if d.kind is Kind.RAW and d.carrier is not None
        )
        self.carriers = frozenset(carried)

    @property
    def rank(self) -> int:
        """The number of dimensions of the grids."""
        return len(self.built.array(self.grids[0]).shape)

    def nodes(self, nodes: Sequence[Node]) -> None:
        """Processes statements, loops and conditions in order."""
        for node in nodes:
            match node:
                case Loop():
                    self._loop(node)
                case If():
                    self.nodes((*node.body, *node.orelse))
                case _:
                    self._statement(self._instances(node))

    def _instances(self, node: Node) -> Instances:
        return next(each for each in self.built.everything if each.node is node)

    def _loop(self, loop: Loop) -> None:
        self.nodes(loop.body)
        if loop.name not in self.carriers:
            return
        before = dict(self.cones)
        self.nodes(loop.body)
        if self._same(before):
            return
        trips = self._trips(loop)
        if trips is None or trips > MOST_TRIPS:
            message = f"values travel along loop {loop.name} from cell to cell"
            raise Unbounded(message)
        for _ in range(trips - 2):
            self.nodes(loop.body)

    def _same(self, before: Mapping[str, Map]) -> bool:
        return before.keys() == self.cones.keys() and all(
            self.built.solver.ask(lambda a=a, b=b: a.is_equal(b), otherwise=False)
            for a, b in zip(before.values(), self.cones.values(), strict=True)
        )

    def _trips(self, loop: Loop) -> int | None:
        """The trip count of a loop with known bounds, else None."""
        if loop.opaque:
            return None
        bounds = [f"{name} = {value}" for name, value in self.values.items()]
        bounds += [f"{loop.name} >= {bound}" for bound in loop.lowers]
        bounds += [f"{loop.name} < {bound}" for bound in loop.uppers]
        try:
            points = self.built.where((loop.name,), conjunction(bounds))
        except Exception:  # noqa: BLE001 - isl: a bound names another loop
            return None
        ends = self.built.solver.interval(points, 0)
        if ends.lower is None or ends.upper is None:
            return None
        return (ends.upper - ends.lower) // loop.step + 1

    def _statement(self, one: Instances) -> None:
        """Adds the cones of all reads to the cone of the written array."""
        read = [each for other in self._seen_by(one) for each in self._read(one, other)]
        for access, relation in zip(one.accesses, one.relations, strict=True):
            if not access.writes:
                continue
            for each in read:
                self._add(access.array, relation.reverse().apply_range(each))

    def _seen_by(self, one: Instances) -> Iterator[Instances]:
        """The statements in surrounding loops, whose scalars the statement may use."""
        for other in self.built.statements:
            count = len(other.loops)
            if other.order <= one.order and other.loops == one.loops[:count]:
                yield other

    def _read(self, one: Instances, other: Instances) -> Iterator[Map]:
        """Executions of one -> cells that reads of another in the iteration need."""
        trips = [f"t{n}" for n in range(len(one.loops))]
        relation = f"[{', '.join(trips)}] -> [{', '.join(trips[: len(other.loops)])}]"
        text = f"{header(self.built.scop)} {{ {relation} }}"
        same = self.built.solver.map(text)
        for access, reads in zip(other.accesses, other.relations, strict=True):
            if not access.writes and access.array in self.cones:
                yield same.apply_range(reads).apply_range(self.cones[access.array])

    def _add(self, array: str, cone: Map) -> None:
        known = self.cones.get(array)
        whole = cone if known is None else known.union(cone)
        self.cones[array] = whole.coalesce()
        if self._is_grid(array):
            self.cones[array] = self._of_box(self.box(array))

    def _is_grid(self, name: str) -> bool:
        array = self.built.array(name)
        return len(array.shape) == self.rank and not array.scope

    def box(self, name: str) -> Box:
        """The distances of the cells that a cell depends on.  Raises `Unbounded`."""
        if name not in self.cones or not self._is_grid(name):
            message = f"{name} is no grid of {self.rank} dimensions"
            raise Unbounded(message)
        away = self.cones[name].deltas()
        found = tuple(self.built.solver.interval(away, d) for d in range(self.rank))
        for d, ends in enumerate(found):
            if ends.lower is None or ends.upper is None:
                message = f"a cell of {name} depends on all cells along dimension {d}"
                raise Unbounded(message)
        return found

    def _of_box(self, box: Box) -> Map:
        """{ c -> c + d : d in box }."""
        cells = [f"c{d}" for d in range(len(box))]
        others = [f"o{d}" for d in range(len(box))]
        near = (
            f"{ends.lower} <= {o} - {c} <= {ends.upper}"
            for c, o, ends in zip(cells, others, box, strict=True)
        )
        relation = f"[{', '.join(cells)}] -> [{', '.join(others)}]"
        text = f"{header(self.built.scop)} {{ {relation} : {' and '.join(near)} }}"
        return self.built.solver.map(text)


def _borders(built: Model, rank: int) -> Iterator[int]:
    """Per dimension, the widest border that a statement does not compute.

    Raises `Unbounded` where a statement treats cells differently by their position.
    """
    found = [0] * rank
    for one in built.statements:
        for access, relation in zip(one.accesses, one.relations, strict=True):
            array = built.array(access.array)
            if access.writes and len(array.shape) == rank and not array.scope:
                borders = _border(built, relation.range(), array.shape, access.array)
                found = [max(pair) for pair in zip(found, borders, strict=True)]
    return iter(found)


def _border(
    built: Model, written: Set, shape: Sequence[int | str | None], name: str
) -> Sequence[int]:
    """The cells at the ends of each dimension that are not written."""
    cells = [f"c{d}" for d in range(len(shape))]
    tuple_, found, box = ", ".join(cells), list[int](), list[str]()
    solver = built.solver
    for d, (cell, extent) in enumerate(zip(cells, shape, strict=True)):
        if extent is None:
            message = f"the extent of {name} along dimension {d} is not known"
            raise Unbounded(message)
        text = f"[{tuple_}] -> [{extent} - 1 - {cell}]"
        from_end = solver.map(f"{header(built.scop)} {{ {text} }}")
        low = solver.interval(written, d).lower
        high = solver.interval(written.apply(from_end), 0).lower
        if low is None or high is None:
            message = f"the border of {name} along dimension {d} is not known"
            raise Unbounded(message)
        found.append(max(low, high))
        box.append(f"{low} <= {cell} < {extent} - {high}")
    whole = built.where(cells, " and ".join(box)).intersect_params(written.params())
    if not solver.ask(lambda: whole.is_subset(written), otherwise=False):
        message = f"a statement writes some cells of {name} and leaves others out"
        raise Unbounded(message)
    return found
