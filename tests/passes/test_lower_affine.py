"""Loops, conditions and accesses become blocks, arithmetic and plain accesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering import apply, function, has_affine, names

import gpucodegen as gcg
from examples.catalogue import PROGRAMS, Program
from gpucodegen import errors
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.passes.lower_affine import LowerAffine

PASS = "lower-affine"

# Extents are arguments here, so the bounds of accesses are checked, not proven.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")

# -- the documents' shape --------------------------------------------------------------

SUM = """
func.func @f(%A: memref<?xf32>, %n: index) -> f32 {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 1 to %n step 2 iter_args(%sum = %zero) -> f32 {
    %v = affine.load %A[%i - 1] : memref<?xf32>
    %next = arith.addf %sum, %v : f32
    affine.yield %next : f32
  }
  return %r : f32
}
"""

SUM_IN_BLOCKS = """\
module {
  func.func @f(%A: memref<?xf32>, %n: index) -> f32 {
    %zero = arith.constant 0.000000e+00 : f32
    %c = arith.constant 1 : index
    cf.br ^bb1(%c, %zero : index, f32)
  ^bb1(%i: index, %sum: f32):
    %0 = arith.cmpi slt, %i, %n : index
    cf.cond_br %0, ^bb2, ^bb3(%sum : f32)
  ^bb2:
    %c_0 = arith.constant -1 : index
    %1 = arith.addi %i, %c_0 : index
    %v = memref.load %A[%1] : memref<?xf32>
    %next = arith.addf %sum, %v : f32
    %c_1 = arith.constant 2 : index
    %2 = arith.addi %i, %c_1 : index
    cf.br ^bb1(%2, %next : index, f32)
  ^bb3(%r: f32):
    return %r : f32
  }
}"""


def test_the_loop_variable_is_an_argument_of_the_block_that_checks():
    assert str(apply(PASS, SUM)) == SUM_IN_BLOCKS


@pytest.mark.parametrize("name", ["lower-if-and-for", "convert-to-cfg"])
def test_the_documents_own_names_lower_control_flow_only(name: str):
    found = names(apply(name, SUM))
    assert "affine.for" not in found
    assert "affine.load" in found
    assert {"cf.br", "cf.cond_br"} <= set(found)


def test_other_operations_stay_the_same_objects_in_the_same_order():
    before = gcg.parse(SUM)
    after = LowerAffine().apply(before)
    others = [
        op for op in before.walk() if not op.regions and op.dialect in {"arith", "func"}
    ]
    kept = [op for op in after.walk() if op in set(others)]
    assert kept == others


def test_functions_without_affine_operations_are_not_touched():
    before = gcg.parse(f"""
    func.func private @outside(index)
    func.func @plain(%i: index) -> index {{
      cf.br ^bb1(%i : index)
    ^bb1(%j: index):
      return %j : index
    }}
    {SUM}""")
    after = LowerAffine().apply(before)
    same = [a is b for a, b in zip(before.operations, after.operations, strict=True)]
    assert same == [True, True, False]


# -- the same results ------------------------------------------------------------------

TO_AFFINE = "inline,generalize,bufferize,linalg-to-affine"


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


@pytest.mark.slow
def test_examples_run_to_their_answers(program: Program):
    module = run_pipeline(
        gcg.parse(program.text, allow_unregistered=True),
        parse_pipeline(f"{TO_AFFINE},{PASS}"),
    )
    assert not has_affine(module)
    # What branches do with transfers is run, not proven.
    verify = "dma" not in str(module)
    program.run(gcg.compile(module, target="cpu", verify=verify)[program.entry])


def test_a_lowered_loop_runs():
    values = np.arange(9, dtype="f4")
    assert function(apply(PASS, SUM))(values, 9) == values[0:8:2].sum()
    assert function(apply(PASS, SUM))(values, 0) == 0


COUNT = """
func.func @f(%a: index, %b: index, %c: index, %d: index) -> index {{
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %r = affine.for %i = max affine_map<(d0, d1) -> (d0, d1 - 3)>(%a, %b)
      to min affine_map<(d0)[s0] -> (d0 + 5, s0 floordiv 2, 9)>(%c)[%d]
      step {step} iter_args(%sum = %zero) -> index {{
    %part = affine.for %j = {low} to {high} iter_args(%inner = %sum) -> index {{
      %ij = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%i, %j)
      %tripled = arith.muli %inner, %three : index
      %next = arith.addi %tripled, %ij : index
      affine.yield %next : index
    }}
    affine.yield %part : index
  }}
  return %r : index
}}
"""


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4),
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    st.lists(st.tuples(*[st.integers(-12, 12)] * 4), min_size=2, max_size=5),
)
def test_bounds_and_steps_are_those_of_the_loop(
    step: int, inner: tuple[int, int], points: list[tuple[int, int, int, int]]
):
    text = COUNT.format(step=step, low=inner[0], high=inner[1])
    lowered = function(apply(PASS, text))
    for a, b, c, d in points:
        total = 0
        for i in range(max(a, b - 3), min(c + 5, d // 2, 9), step):
            for j in range(*inner):
                total = total * 3 + i + j
        assert (lowered(a, b, c, d) - total) % 2**64 == 0


CONDITION = """
func.func @f(%i: index, %n: index) -> index {
  %one = arith.constant 1 : index
  %r = affine.if affine_set<(d0)[s0] : (d0 mod 3 == 0, s0 - d0 - 1 >= 0)>(%i)[%n]
      -> index {
    %x = affine.apply affine_map<(d0) -> (-d0)>(%i)
    affine.yield %x : index
  } else {
    affine.yield %one : index
  }
  return %r : index
}
"""


def test_conditions_hold_together():
    lowered = function(apply(PASS, CONDITION))
    for i in range(-7, 8):
        assert lowered(i, 4) == (-i if i % 3 == 0 and i < 4 else 1)


STEPS = """
func.func @f(%A: memref<?x8xf32>, %n: index) {
  affine.for %i = 0 to %n {
    affine.if affine_set<(d0) : (d0 - 1 >= 0)>(%i) {
      affine.for %j = 0 to 8 {
        %v = affine.load %A[%i - 1, (%j * 3) mod 8] : memref<?x8xf32>
        affine.if affine_set<(d0) : (d0 - 5 >= 0)>(%j) {
          affine.store %v, %A[%i, 7 - %j] : memref<?x8xf32>
        }
      }
    }
    affine.prefetch %A[%i, 0], read, locality<3>, data : memref<?x8xf32>
    %t = affine.vector_load %A[%i, 4] : memref<?x8xf32>, vector<4xf32>
    affine.vector_store %t, %A[%i, 0] : memref<?x8xf32>, vector<4xf32>
  }
  return
}
"""


def test_nested_loops_conditions_and_accesses():
    module = apply(PASS, STEPS)
    kept = {"memref.prefetch", "vector.load", "vector.store"}
    assert kept <= set(names(module))
    found = np.arange(32, dtype="f4").reshape(4, 8)
    expected = found.copy()
    function(STEPS)(expected, 4)
    function(module)(found, 4)
    np.testing.assert_array_equal(found, expected)


DIGITS = """
func.func @f(%i: index, %n: index) -> (index, index, index, index) {
  %a:3 = affine.delinearize_index %i into (3, %n, 4) : index, index, index
  %b = affine.linearize_index [%a#0, %a#1, %a#2] by (3, %n, 4) : index
  return %a#0, %a#1, %a#2, %b : index, index, index, index
}
"""


@pytest.mark.slow
def test_digits_of_an_index():
    module = apply(PASS, DIGITS)
    assert not has_affine(module)
    for i in range(60):
        assert function(module)(i, 5) == (i // 20, i // 4 % 5, i % 4, i)


# -- affine.parallel -------------------------------------------------------------------

REDUCE = """
func.func @f(%A: memref<?x?x{type}>, %m: index, %n: index) -> {type} {{
  %r = affine.parallel (%i, %j) = (0, 1) to (%m, min(%n, 4)) step (1, 2)
      reduce ("{kind}") -> ({type}) {{
    %v = affine.load %A[%i, %j] : memref<?x?x{type}>
    affine.yield %v : {type}
  }}
  return %r : {type}
}}
"""

INTEGER_KINDS = "addi muli maxs mins maxu minu andi ori".split()
FLOAT_KINDS = "addf mulf maximumf minimumf maxnumf minnumf".split()
KINDS = [(kind, "i32") for kind in INTEGER_KINDS] + [(k, "f32") for k in FLOAT_KINDS]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "ty"), KINDS)
def test_reductions_of_parallel_loops(kind: str, ty: str):
    text = REDUCE.format(kind=kind, type=ty)
    dtype = "i4" if ty == "i32" else "f4"
    values = (np.arange(15).reshape(3, 5) - 4).astype(dtype)
    module = apply(PASS, text)
    assert not has_affine(module)
    for rows in (0, 3):
        results = [function(m)(values, rows, 5) for m in (module, text)]
        np.testing.assert_array_equal(*results)


def test_a_parallel_loop_without_dimensions_runs_once():
    text = """
    func.func @f(%A: memref<1xf32>) {
      affine.parallel () = () to () {
        %v = affine.load %A[0] : memref<1xf32>
        %w = arith.addf %v, %v : f32
        affine.store %w, %A[0] : memref<1xf32>
      }
      return
    }"""
    one = np.ones(1, "f4")
    function(apply(PASS, text))(one)
    assert one[0] == 2


def test_a_reduction_without_start_is_refused():
    text = REDUCE.format(kind="assign", type="i32")
    with pytest.raises(errors.UnsupportedOperation, match="reduce assign") as caught:
        apply(PASS, text)
    assert "addf" in caught.value.message


# -- bodies that stay one block --------------------------------------------------------

INSIDE_SCF = """
func.func @f(%A: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%all = %zero) -> f32 {
    %s = affine.for %i = 0 to %n step 2 iter_args(%sum = %all) -> f32 {
      %x = affine.if affine_set<(d0) : (d0 - 3 >= 0)>(%i) -> f32 {
        %v = affine.load %A[%i] : memref<?xf32>
        affine.yield %v : f32
      } else {
        affine.yield %sum : f32
      }
      %next = arith.addf %sum, %x : f32
      affine.yield %next : f32
    }
    affine.parallel (%i) = (0) to (%n) {
      affine.store %s, %A[%i] : memref<?xf32>
    }
    scf.yield %s : f32
  }
  return %r : f32
}
"""


@pytest.mark.slow
def test_loops_inside_structured_bodies_become_structured_loops():
    module = apply(PASS, INSIDE_SCF)
    assert not has_affine(module)
    assert names(module).count("scf.for") == 3
    assert "cf.br" not in names(module)
    first, second = (np.arange(7, dtype="f4") for _ in range(2))
    expected = function(INSIDE_SCF)(first, 7)
    assert function(module)(second, 7) == expected
    np.testing.assert_array_equal(first, second)


def test_a_structured_body_inside_a_loop_keeps_its_one_block():
    text = """
    func.func @f(%A: memref<?xi32>, %n: index, %c: i1) {
      %one = arith.constant 1 : i32
      affine.for %i = 0 to %n {
        scf.if %c {
          affine.for %j = 0 to %n {
            affine.store %one, %A[%j] : memref<?xi32>
          }
        }
      }
      return
    }"""
    module = apply(PASS, text)
    found = names(module)
    assert (found.count("scf.for"), found.count("cf.cond_br")) == (1, 1)
    for flag in (False, True):
        cells = np.zeros(5, "i4")
        function(module)(cells, 4, flag)
        assert cells.tolist() == ([1] * 4 + [0] if flag else [0] * 5)


def test_kernels_are_lowered_too():
    text = """
    gpu.module @m {
      gpu.func @k(%A: memref<8xf32>, %v: f32) kernel {
        affine.for %i = 0 to 8 {
          affine.store %v, %A[%i] : memref<8xf32>
        }
        gpu.return
      }
    }"""
    module = apply(PASS, text)
    assert not has_affine(module)
    assert "cf.cond_br" in names(module)


def test_blocks_that_were_there_stay():
    text = """
    func.func @f(%c: i1, %n: index) -> index {
      %zero = arith.constant 0 : index
      cf.cond_br %c, ^loop(%n : index), ^end(%zero : index)
    ^loop(%m: index):
      %r = affine.for %i = 0 to %m iter_args(%s = %zero) -> index {
        %t = arith.addi %s, %i : index
        affine.yield %t : index
      }
      cf.br ^end(%r : index)
    ^end(%x: index):
      return %x : index
    }"""
    module = apply(PASS, text)
    assert function(module)(True, 5) == 10
    assert function(module)(False, 5) == 0
    assert function(text)(True, 5) == 10


def test_vectors_of_indices_have_digits_too():
    text = """
    func.func @f(%i: vector<4xindex>, %n: index) -> vector<4xindex> {
      %a:2 = affine.delinearize_index %i into (%n, 4)
          : vector<4xindex>, vector<4xindex>
      return %a#1 : vector<4xindex>
    }"""
    assert not has_affine(apply(PASS, text))


def test_loops_outside_of_functions_become_structured_loops():
    text = """
    module {
      %n = "foo.extent"() : () -> index
      affine.for %i = 0 to %n {
        %j = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
        "foo.use"(%j) : (index) -> ()
      }
    }"""
    module = LowerAffine().apply(gcg.parse(text, allow_unregistered=True))
    assert not has_affine(module)
    assert "scf.for" in names(module)
