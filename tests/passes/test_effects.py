"""Declared effects: what they say, who keeps to them, and what follows for loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import loop_verdicts

N = 6
"""Extent of every loop and of each dimension of the buffer, as far as tests go."""


def kinds(text: str) -> list[str]:
    module = gcg.parse(text)
    lifted = lift_function(module.functions["f"], Surroundings.of(module))
    return [v.kind.value for v in loop_verdicts(model(lifted.scop))]


def program(effects: str) -> str:
    """Two loops around a call with these effects on a buffer of two dimensions."""
    return f"""
    func.func private @g(memref<{N}x{N}xf32>, index, index) attributes {{{effects}}}
    func.func @f(%A: memref<{N}x{N}xf32>) {{
      affine.for %i = 0 to {N} {{
        affine.for %j = 0 to {N} {{
          func.call @g(%A, %i, %j) : (memref<{N}x{N}xf32>, index, index) -> ()
        }}
      }}
      return
    }}"""


Cells = Callable[[int, int], set[tuple[int, int]]]
BOX = set(itertools.product(range(N), range(N)))


def everywhere(*_: int) -> set[tuple[int, int]]:
    return BOX


def nowhere(*_: int) -> set[tuple[int, int]]:
    return set()


@st.composite
def relations(draw: st.DrawFn) -> tuple[str, Cells]:
    """A relation as text and as the function it stands for."""
    a, b, c, d = (draw(st.integers(-1, 2)) for _ in range(4))
    shift = draw(st.integers(-1, 2))
    match draw(st.sampled_from(["map", "any", "set", "unit", "none"])):
        case "map":
            text = f"affine_map<(i, j) -> (i * {a} + {shift}, j * {b} + i * {c})>"
            return text, lambda i, j: {(a * i + shift, b * j + c * i)}
        case "any":
            text = f"affine_map<(i, j, k) -> (i * {a} + j * {d}, k * 2 + {b})>"
            every = range(-2 * N, 2 * N)
            return text, lambda i, j: {(a * i + d * j, 2 * k + b) for k in every} & BOX
        case "set":
            inside = f"r * {a} + i * {b} - s + {shift} >= 0"
            text = f"affine_set<(i, j, r, s)[h, w] : ({inside}, w - s - j - 1 >= 0)>"
            return text, lambda i, j: {
                (r, s)
                for r, s in BOX
                if a * r + b * i - s + shift >= 0 and N - s - j - 1 >= 0
            }
        case "unit":
            return "unit", everywhere
        case _:
            return "[]", nowhere


def expected(reads: Cells, writes: Cells) -> list[str]:
    """Kinds of the two loops by comparing all pairs of calls."""
    calls = list(itertools.product(range(N), range(N)))
    carried = set[int]()
    for x, y in itertools.combinations(calls, 2):
        first, second = (reads(*x), writes(*x)), (reads(*y), writes(*y))
        clash = first[1] & second[1] or first[0] & second[1] or first[1] & second[0]
        if clash:
            carried.add(0 if x[0] != y[0] else 1)
    return ["sequential" if loop in carried else "parallel" for loop in range(2)]


@pytest.mark.sampled(4)
@settings(max_examples=60, database=None, derandomize=True, deadline=None)
@given(relations(), relations(), relations())
def test_loops_are_judged_by_the_declared_cells(
    read: tuple[str, Cells], write: tuple[str, Cells], more: tuple[str, Cells]
):
    effects = f"gcg.reads = [{read[0]}], gcg.may_writes = [[{write[0]}, {more[0]}]]"
    found = kinds(program(effects))
    assert found == expected(read[1], lambda i, j: write[1](i, j) | more[1](i, j))


def test_symbols_are_extents():
    text = """
    func.func private @g(memref<?xf32>, index) attributes {
      gcg.writes = [affine_map<(d0)[s0] -> (s0 - d0 - 1)>]
    }
    func.func @f(%A: memref<?xf32>, %v: f32) {
      affine.for %i = 0 to 9 {
        func.call @g(%A, %i) : (memref<?xf32>, index) -> ()
        affine.store %v, %A[%i] : memref<?xf32>
      }
      return
    }"""
    assert kinds(text) == ["sequential"]
    assert kinds(text.replace("s0 - d0 - 1", "d0")) == ["parallel"]


def test_buffers_without_a_rank_and_nothing_at_all():
    text = """
    func.func private @g(memref<*xf32>, index) attributes {gcg.reads = [unit]}
    func.func private @h(index) attributes {gcg.reads = []}
    func.func @f(%A: memref<*xf32>) {
      affine.for %i = 0 to 9 {
        func.call @g(%A, %i) : (memref<*xf32>, index) -> ()
        func.call @h(%i) : (index) -> ()
      }
      return
    }"""
    assert kinds(text) == ["parallel"]


def checked(effects: str, body: str) -> None:
    gcg.analyze(
        gcg.parse(
            f"""
            func.func private @unseen(memref<4x8xf32>, index)
            func.func @g(%A: memref<4x8xf32>, %i: index)
                attributes {{{effects}}} {{
              %j = arith.constant 1 : index
              {body}
              return
            }}""",
            filename="g.mlir",
            allow_unregistered=True,
        )
    )


ROW_READ = "gcg.may_reads = [affine_map<(d0, d1) -> (d0, d1)>]"
LOAD = "%x = memref.load %A[{}] : memref<4x8xf32>"


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.cases(
    ("effects", "body"),
    [
        (ROW_READ, LOAD.format("%i, %j")),
        ("gcg.reads = [affine_map<(d0) -> (d0, 1)>]", LOAD.format("%i, %j")),
        ("gcg.reads = [[]], gcg.writes = [[]]", ""),
        (ROW_READ, "func.call @unseen(%A, %i) : (memref<4x8xf32>, index) -> ()"),
        (ROW_READ, '"t.unknown"(%A) : (memref<4x8xf32>) -> ()'),
        (
            "gcg.reads = [affine_map<(d0) -> (d0, 0)>]",
            '"t.unknown"(%A) : (memref<4x8xf32>) -> ()',
        ),
    ],
)
def test_a_body_may_keep_to_its_declaration(effects: str, body: str):
    checked(effects, body)


@pytest.mark.parametrize(
    ("effects", "body", "text"),
    [
        (
            ROW_READ,
            LOAD.format("%j, %i"),
            (
                "@g reads A[1, 0] where i=0, which its declared effects leave out. "
                "Add it to gcg.reads or gcg.may_reads, or correct the body"
            ),
        ),
        (
            ROW_READ,
            f"{LOAD.format('%i, %j')} memref.store %x, %A[%i, %j] : memref<4x8xf32>",
            (
                "@g writes A[0, 1] where i=0, which its declared effects leave out. "
                "Add it to gcg.writes or gcg.may_writes, or correct the body"
            ),
        ),
        (
            "gcg.reads = [affine_map<(d0, d1) -> (d0, d1)>]",
            LOAD.format("%i, %j"),
            (
                "@g reads A[0, 0] where i=0 by its declaration, but not in every call. "
                "Declare it by gcg.may_reads"
            ),
        ),
    ],
)
def test_a_body_that_does_not_keep_to_it_is_refused(effects: str, body: str, text: str):
    with pytest.raises((errors.EffectsExceeded, errors.EffectsMissing)) as caught:
        checked(effects, body)
    assert caught.value.message == text
    assert str(caught.value).startswith("g.mlir:")


def test_compile_refuses_it_too():
    text = """
    func.func @g(%A: memref<4xf32>, %v: f32, %i: index)
        attributes {gcg.may_writes = [affine_map<(d0) -> (d0)>]} {
      memref.store %v, %A[%i] : memref<4xf32>
      %j = arith.constant 0 : index
      memref.store %v, %A[%j] : memref<4xf32>
      return
    }"""
    with pytest.raises(errors.EffectsExceeded):
        gcg.compile(text, target="cpu").g(np.zeros(4, "f4"), 1.0, 2)


def test_buffers_that_are_only_read_may_be_read_only():
    text = """
    func.func private @look(memref<4xf32>, memref<4xf32>)
      attributes {gcg.reads = [[], unit], gcg.writes = [unit, []]}
    func.func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
      func.call @look(%B, %A) : (memref<4xf32>, memref<4xf32>) -> ()
      return
    }"""
    given, taken = np.arange(4, dtype="f4"), np.zeros(4, "f4")
    given.flags.writeable = False
    function = gcg.compile(text, target="cpu", handlers={"look": np.copyto}).f
    function(given, taken)
    assert (taken == given).all()
    with pytest.raises(errors.ReadOnlyArgument):
        function(taken, given)


def test_effects_hold_for_buffers_so_tensors_take_them_away():
    text = """
    func.func @g(%A: memref<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32>
        attributes {gcg.reads = [[]]} {
      return %t : tensor<4xf32>
    }"""
    given = np.arange(4, dtype="f4")
    assert (gcg.compile(text, target="cpu").g(given, given + 1) == given + 1).all()
