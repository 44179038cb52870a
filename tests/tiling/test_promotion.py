"""Tiles in fast memory against brute force: every value read and left is the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiling_nests import nests, scops
from tiling_oracle import Touch, evaluate, execute
from tiling_samples import nest

from gpucodegen.tiling.model.isl import Limits
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    statements,
)
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.promotion import LocalTile, ScannedRange, local_tiles

EXTENT = 64
Cell = tuple[str, tuple[int, ...]]


class Memory(dict[Cell, object]):
    """What nobody wrote holds its own address; reads are remembered."""

    def __missing__(self, cell: Cell) -> object:
        return ("initial", cell)


def run_directly(touches: list[Touch]) -> tuple[list[object], Memory]:
    memory, seen = Memory(), []
    for time, touch in enumerate(touches):
        cell = (touch.access.array, touch.cell)
        if touch.access.writes:
            memory[cell] = time
        else:
            seen.append(memory[cell])
    return seen, memory


def run_in_tiles(
    scop: Scop, touches: list[Touch], tiles: list[LocalTile], parameters: dict[str, int]
) -> tuple[list[object], Memory]:
    """Every outer iteration between its copies, in buffers that hold garbage."""
    numbers = {
        id(access): number
        for number, access in enumerate(
            a for s in statements(scop.body) for a in s.accesses
        )
    }
    owner = {
        numbers[id(reference.access)]: tile
        for tile in tiles
        for reference in tile.references
    }
    depth = tiles[0].depth
    memory, seen = Memory(), []
    timed = list(enumerate(touches))
    for outer, group in groupby(timed, lambda item: item[1].values(depth)):
        around = [loop.name for loop, _ in touches[0].around[:depth]]
        env = dict(zip(around, outer, strict=True)) | parameters
        buffers = {id(tile): entered(tile, memory, env) for tile in tiles}
        for time, touch in group:
            cell = (touch.access.array, touch.cell)
            tile = owner.get(touch.number)
            place = memory if tile is None else buffers[id(tile)]
            key = cell if tile is None else within(tile, touch.cell, env)
            if touch.access.writes:
                place[key] = time
            else:
                seen.append(place[key])
        for tile in tiles:
            for cell in visited(tile.copy_out, env):
                inside = within(tile, cell, env)
                memory[tile.array, cell] = buffers[id(tile)][inside]
    return seen, memory


def entered(tile: LocalTile, memory: Memory, env: dict[str, int]) -> dict:
    buffer = dict.fromkeys(product(*map(range, tile.extents)), "garbage")
    for cell in visited(tile.copy_in, env):
        buffer[within(tile, cell, env)] = memory[tile.array, cell]
    return buffer


def within(tile: LocalTile, cell: tuple[int, ...], env: dict[str, int]) -> tuple:
    corner = [evaluate(str(bound), env) for bound in tile.corner]
    place = tuple(c - o for c, o in zip(cell, corner, strict=True))
    assert all(0 <= x < n for x, n in zip(place, tile.extents, strict=True))
    return place


def visited(
    ranges: tuple[ScannedRange, ...] | None,
    env: dict[str, int],
    cell: tuple[int, ...] = (),
) -> list[tuple[int, ...]]:
    if ranges is None:
        return []
    if len(cell) == len(ranges):
        assert all(0 <= c < EXTENT for c in cell)
        return [cell]
    inner = env | {f"c{d}": c for d, c in enumerate(cell)}
    range_ = ranges[len(cell)]
    lower = max(evaluate(str(bound), inner) for bound in range_.lowers)
    upper = min(evaluate(str(bound), inner) for bound in range_.uppers)
    return [
        found
        for value in range(lower, upper)
        for found in visited(ranges, env, (*cell, value))
    ]


def check(scop: Scop, depth: int, **parameters: int) -> dict[str, list[LocalTile]]:
    """The tiles that are possible, after they have been tried all at once."""
    built = model(scop, Limits(200_000, 80_000_000))
    found = {array.name: local_tiles(built, array.name, depth) for array in scop.arrays}
    tiles = [t for each in found.values() for t in each if isinstance(t, LocalTile)]
    touches = execute(scop, **parameters)
    if tiles and touches:
        seen, memory = run_directly(touches)
        tiled_seen, tiled_memory = run_in_tiles(scop, touches, tiles, parameters)
        assert tiled_seen == seen
        assert {c: tiled_memory[c] for c in memory} == memory
        assert all(
            tiled_memory[c] == ("initial", c) for c in tiled_memory.keys() - memory
        )
    return {
        name: [t for t in each if isinstance(t, LocalTile)]
        for name, each in found.items()
    }


def within_extents(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same nest with all cells moved into arrays of `EXTENT`."""

    def moved(node: Node) -> Node:
        match node:
            case Loop():
                return replace(node, body=within_extents(node.body))
            case If():
                orelse = within_extents(node.orelse)
                return replace(node, body=within_extents(node.body), orelse=orelse)
            case Statement():
                accesses = tuple(
                    replace(a, indices=tuple(f"({i}) + 30" for i in a.indices))
                    for a in node.accesses
                )
                return replace(node, accesses=accesses)
            case _:
                return node

    return tuple(map(moved, nodes))


@pytest.mark.slow
@nests
@given(scops(), st.data())
def test_random_nests_find_and_leave_the_same_values(scop: Scop, data: st.DataObject):
    outer = [node for node in scop.body if isinstance(node, Loop)]
    node = data.draw(st.sampled_from(outer))
    arrays = tuple(replace(a, shape=(EXTENT,) * len(a.shape)) for a in scop.arrays)
    used = {a.array for s in statements((node,)) for a in s.accesses}
    alone = Scop((), (), tuple(a for a in arrays if a.name in used))
    check(replace(alone, body=within_extents((node,))), 1)


TILED = """
for it in 0..N step 3
  for jt in 0..N step 4
    for i in it..min(it+3,N)
      for j in jt..min(jt+4,N)
        {}
"""


def tiled(statement: str, text: str = TILED) -> Scop:
    found = nest(text.format(statement).strip(), "N", ("N >= 1",))
    arrays = tuple(Array(a.name, (EXTENT,) * len(a.shape)) for a in found.arrays)
    return replace(found, arrays=arrays, body=_split(found.body))


def _split(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """``min(a,b)`` as two bounds."""

    def split(node: Node) -> Node:
        if not isinstance(node, Loop):
            return node
        uppers = tuple(
            part
            for bound in node.uppers
            for part in (bound[4:-1].split(",") if bound[:4] == "min(" else [bound])
        )
        return replace(node, upper=uppers, body=_split(node.body))

    return tuple(map(split, nodes))


@pytest.mark.cases("n", [1, 4, 7, 12])
@pytest.mark.cases(
    ("statement", "extents", "copied"),
    [
        ("B[j,i] = A[i,j]", {"A": (3, 4), "B": (4, 3)}, {"A": "in", "B": "out"}),
        (
            "B[i+1,j+1] = A[i,j+1] A[i+2,j+1] A[i+1,j] A[i+1,j+2]",
            {"A": (5, 6), "B": (3, 4)},
            {"A": "in", "B": "out"},
        ),
        ("A[i+1,j] = A[i,j]", {"A": (4, 4)}, {"A": "in out"}),
        ("C[2*i+j] += A[i]", {"C": (8,), "A": (3,)}, {"C": "in out", "A": "in"}),
        ("B[2*i,3*j] = A[i+j]", {"B": (5, 10), "A": (6,)}, {"B": "in out", "A": "in"}),
    ],
)
@pytest.mark.sampled(7)
def test_patterns_with_partial_tiles(
    statement: str, extents: dict[str, tuple], copied: dict[str, str], n: int
):
    tiles = check(tiled(statement), 2, N=n)
    assert {name: found[0].extents for name, found in tiles.items()} == extents
    ways = {
        name: " ".join(
            way
            for way, ranges in (("in", tile.copy_in), ("out", tile.copy_out))
            if ranges
        )
        for name, (tile,) in tiles.items()
    }
    assert ways == copied


def test_what_the_tile_writes_first_is_not_copied_in():
    text = """
for it in 0..N step 3
  for i in it..min(it+3,N)
    C[i] = A[i]
    for k in 0..4
      C[i] += B[k]
"""
    tiles = check(tiled("", text), 1, N=8)
    assert tiles["C"][0].copy_in is None
    assert tiles["C"][0].copy_out is not None


def test_what_may_stay_unwritten_is_copied_in():
    scop = tiled("B[i,j] = A[i,j]")
    (statement,) = statements(scop.body)
    guarded = If(("(i + j) mod 2 = 0",), (statement,))
    tiles = check(replace(scop, body=_guarded(scop.body, guarded)), 2, N=7)
    assert tiles["B"][0].copy_in is not None


def _guarded(nodes: tuple[Node, ...], guard: If) -> tuple[Node, ...]:
    return tuple(
        replace(n, body=_guarded(n.body, guard)) if isinstance(n, Loop) else guard
        for n in nodes
    )


def test_triangles_are_copied_as_triangles():
    text = """
for it in 0..N step 4
  for i in it..min(it+4,N)
    for j in it..i+1
      y[i] += L[i,j]
"""
    (tile,) = check(tiled("", text), 1, N=10)["L"]
    assert tile.extents == (4, 4)
    assert [str(bound) for bound in tile.copy_in[1].uppers] == ["c0 + 1"]


def test_groups_that_do_not_meet_get_a_buffer_each():
    tiles = check(tiled("A[i,j] = A[i+30,j]"), 2, N=9)["A"]
    assert [t.extents for t in tiles] == [(3, 4), (3, 4)]
    assert [t.copy_in is None for t in tiles] == [False, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for it in 0..N step 4\n  for j in 0..N\n    B[j] = A[it]", "no constant ext"),
        ("for it in 0..N\n  B[it] = A[0]", ""),
    ],
)
def test_a_tile_that_grows_is_refused(text: str, reason: str):
    scop = nest(text, "N", ("N >= 1",))
    (found,) = local_tiles(model(scop), "B", 1)
    assert isinstance(found, Refusal) == bool(reason)
    assert not reason or reason in found.reason


def test_unknown_indices_are_refused():
    scop = nest("for it in 0..9\n  B[it] = A[it]")
    (statement,) = statements(scop.body)
    unknown = replace(statement.accesses[0], indices=(None,))
    loop = replace(
        scop.body[0],
        body=(replace(statement, accesses=(unknown, statement.accesses[1])),),
    )
    (found,) = local_tiles(model(replace(scop, body=(loop,))), "A", 1)
    assert isinstance(found, Refusal)


def test_streams_do_not_pay_and_reuse_and_transposes_do():
    (copy,) = check(tiled("B[i,j] = A[i,j]"), 2, N=7)["A"]
    (transposed,) = check(tiled("B[j,i] = A[i,j]"), 2, N=7)["B"]
    (halo,) = check(tiled("B[i,j] = A[i,j] A[i,j+1]"), 2, N=7)["A"]
    assert [copy.pays, transposed.pays, halo.pays] == [False, True, True]
