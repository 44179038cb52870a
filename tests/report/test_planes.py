"""Points and arrows of pictures against enumeration, without isl."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen.report.pictures.planes import Plane, Point, planes
from gpucodegen.report.subjects import subject
from gpucodegen.tiling.schedule.skewing import LARGEST
from tests.report.report_nests import (
    DIAGONAL,
    LU,
    SEIDEL,
    SWEEP,
    TILED,
    TILED_SWEEP,
    TRIANGLE,
    copy_of,
    example,
    first_nest,
    first_plane,
    square,
)
from tests.tiling.tiling_oracle import Touch, carrier, execute

SIZE = 7
Shown = tuple[str, str, str]
"""Statement, row and column."""

NESTS = {
    "diagonal": (DIAGONAL, ("i", "j")),
    "sweep": (SWEEP, ("i", "j")),
    "triangle": (TRIANGLE, ("i", "j")),
    "seidel": (SEIDEL, ("t", "i")),
    "lu": (LU, ("k", "i")),
    "lu inside": (LU, ("i", "j")),
    "tiled": (TILED, ("i", "j")),
    "tiled sweep": (TILED_SWEEP, ("i", "j")),
    "matmul": (example("matmul"), ("j", "k")),
    "matmul apart": (example("matmul"), ("i", "k")),
    "forward substitution": (example("triangular_solve"), ("i", "j")),
}


class Brute:
    """What a plane must show, from running the nest."""

    def __init__(self, text: str, plane: Plane) -> None:
        _, nest = first_nest(text)
        scop = nest.model.scop
        self.plane = plane
        self.registers = {array.name for array in scop.arrays if array.register}
        run = execute(scop, **dict.fromkeys(scop.parameters, SIZE))
        self.touches = [t for t in run if self._fixed(t)]
        chains = map(self._names, self.touches)
        names = next(chain for chain in chains if plane.inner.name in chain)
        self.depths = names.index(plane.outer.name), names.index(plane.inner.name)
        self.tiles = [d for d, name in enumerate(names) if name in {"it", "jt"}]
        self.order = [s.name for s in nest.statements]
        deep = [t.statement for t in self.touches if len(t.around) > self.depths[1]]
        self.first = min(map(self.order.index, deep))

    @staticmethod
    def _names(touch: Touch) -> list[str]:
        return [loop.name for loop, _ in touch.around]

    def _fixed(self, touch: Touch) -> bool:
        values = {loop.name: value for loop, value in touch.around}
        given = self.plane.given
        return all(values[n] == v for n, v in given.items() if n in values)

    def shown(self, touch: Touch) -> Shown | None:
        """Where an execution stands, if it is in view."""
        outer, inner = self.depths
        values = [str(value) for _, value in touch.around]
        if len(values) > inner:
            column = values[inner]
        else:
            is_before = self.order.index(touch.statement) < self.first
            column = "before" if is_before else "after"
        found = touch.statement, values[outer], column
        in_view = found[1] in self.plane.rows and column in self.plane.columns
        return found if in_view else None

    def points(self) -> set[Shown]:
        return {place for t in self.touches if (place := self.shown(t))}

    def arrows(self) -> set[tuple[Shown, Shown]]:
        """From the last source of each sink, per pair of references."""
        by_pair: dict[tuple[int, int], list[tuple[Touch, Touch]]] = defaultdict(list)
        last: dict[object, dict[int, Touch]] = defaultdict(dict)
        for sink in self.touches:
            cell = last[sink.access.array, self._own(sink), sink.cell]
            for source in cell.values():
                same = source.statement == sink.statement
                once = same and source.around == sink.around
                if (source.access.writes or sink.access.writes) and not once:
                    by_pair[source.number, sink.number].append((source, sink))
            cell[sink.number] = sink
        found: set[tuple[Shown, Shown]] = set()
        for pairs in by_pair.values():
            first: set[object] = set()
            for source, sink in pairs:
                level = carrier(source, sink)
                if level is not None and level not in (*self.depths, *self.tiles):
                    continue
                if level is None and source.around in first:
                    continue
                if level is None:
                    first.add(source.around)
                ends = self.shown(source), self.shown(sink)
                if ends[0] and ends[1] and ends[0] != ends[1]:
                    found.add((ends[0], ends[1]))
        return found

    def _own(self, touch: Touch) -> object:
        """Values that a loop carries are fresh in each iteration around it."""
        return touch.around[:1] if touch.access.array in self.registers else ()


def place(plane: Plane, point: Point) -> Shown:
    statement = plane.statements[point.statement]
    return statement, plane.rows[point.row], plane.columns[point.column]


def check(text: str, plane: Plane) -> None:
    """The witness is shown even where it is not an immediate pair."""
    brute = Brute(text, plane)
    ends = {
        (place(plane, a.source), place(plane, a.sink)): a.witness for a in plane.arrows
    }
    expected = brute.arrows()
    assert plane.complete
    assert {place(plane, point) for point in plane.points} == brute.points()
    assert expected <= set(ends)
    assert all(ends[pair] for pair in set(ends) - expected)
    assert sum(ends.values()) <= 2


@pytest.mark.slow
@pytest.mark.cases("name", NESTS)
def test_points_and_arrows_are_those_of_the_run(name: str):
    text, loops = NESTS[name]
    check(text, first_plane(text, SIZE, loops))


offsets = st.tuples(st.integers(-2, 2), st.integers(-2, 2))


@pytest.mark.sampled(7)
@settings(max_examples=20, deadline=None)
@given(reads=st.lists(offsets, min_size=1, max_size=3), low=st.sampled_from(["1", "2"]))
def test_arrows_of_random_stencils(reads: list[tuple[int, int]], low: str):
    sources = [f"%i + {a}, %j + {b}" for a, b in reads]
    text = square(copy_of(*sources), low)
    plane = first_plane(text, SIZE)
    check(text, plane)
    check_front(plane)


def check_front(plane: Plane) -> None:
    """The flattest of all fronts that no arrow contradicts."""
    steps = {
        (a.sink.row - a.source.row, a.sink.column - a.source.column)
        for a in plane.arrows
    }
    factors = sorted(itertools.product(range(LARGEST + 1), repeat=2), key=sum)[1:]
    legal = [
        (a, b)
        for a, b in factors
        if all(a * down + b * right > 0 for down, right in steps)
    ]
    assert plane.front == (legal[0] if steps and legal else None)


def test_the_witness_is_marked():
    plane = first_plane(DIAGONAL, SIZE)
    (witness,) = [a for a in plane.arrows if a.witness]
    assert witness.sink.row - witness.source.row == 1
    assert witness.sink.column - witness.source.column == -1


def test_fronts_and_threads():
    assert first_plane(SWEEP).front == (1, 1)
    assert first_plane(SEIDEL).front == (2, 1)
    assert first_plane(DIAGONAL).front == (1, 0)
    assert first_plane(DIAGONAL).workers is None
    assert first_plane(example("matmul"), 7, ("j", "k")).workers == 0


def test_a_window_is_told():
    assert not first_plane(SWEEP, 9).is_cut
    plane = first_plane(SWEEP, 100)
    assert plane.is_cut
    assert (plane.rows[-1], plane.columns[-1]) == ("10", "12")


def test_tiles_of_the_program_are_colours():
    tiles = {p.tile for p in first_plane(TILED).points}
    assert tiles == {(i, j) for i in (0, 4) for j in (0, 4, 8)}


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.OperationIgnored")
def test_loops_without_statements_are_not_shown():
    text = """func.func @f(%A: memref<8x8xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      "t.note"() : () -> ()
    }
    affine.for %k = 0 to 8 {
      affine.store %x, %A[%i, %k] : memref<8x8xf32>
    }
  }
  return
}"""
    module = gcg.parse(text, allow_unregistered=True)
    assert gcg.explain(module).text()
    (nest,) = subject(module, "f").nests
    named = {(a.name, b.name) for a, b in planes(nest)}
    assert ("i", "k") in named
    gcg.explain(module, targets=()).html()


def test_the_most_telling_loops_come_first():
    def first(text: str) -> tuple[str, str]:
        outer, inner = planes(first_nest(text)[1])[0]
        return outer.name, inner.name

    assert first(LU) == ("k", "i")
    assert first(TILED) == ("i", "j")
    assert first(example("matmul"))[1] == "k"
    assert first(example("triangular_solve")) == ("i", "j")
