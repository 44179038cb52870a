"""Index maps become arithmetic that is exact, below zero too."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering import apply, function, has_affine, names

from gpucodegen import errors
from gpucodegen.ir.affine import AffineExpr, AffineMap, Binary, Const, Dim, Sym, binary
from gpucodegen.ir.attributes import AffineMapAttr

PASS = "lower-affine-apply"

# -- exact -----------------------------------------------------------------------------

LEAVES = st.sampled_from([Dim(0), Dim(1), Sym(0)])
CONSTANTS = st.integers(-20, 20).map(Const)
DIVISORS = st.integers(1, 9).map(Const) | st.just(Sym(1))


def _grown(inner: st.SearchStrategy[AffineExpr]) -> st.SearchStrategy[AffineExpr]:
    """Sums, products with a constant or a symbol, and divisions by a positive one."""
    return st.one_of(
        st.builds(binary, st.sampled_from("+-"), inner, inner),
        st.builds(binary, st.just("*"), inner, CONSTANTS | st.just(Sym(0))),
        st.builds(
            binary, st.sampled_from(["mod", "floordiv", "ceildiv"]), inner, DIVISORS
        ),
    )


EXPRESSIONS = st.recursive(LEAVES | CONSTANTS, _grown, max_leaves=6)
NUMBERS = st.integers(-40, 40)
POINTS = st.lists(
    st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(1, 12)), min_size=3, max_size=8
)

PROGRAM = """
func.func @f(%a: index, %b: index, %m: index, %n: index) -> index {{
  %r = affine.{kind} {map}(%a, %b)[%m, %n]
  return %r : index
}}
"""


def _program(kind: str, results: Sequence[AffineExpr]) -> tuple[str, AffineMap]:
    map_ = AffineMap(2, 2, tuple(results))
    return PROGRAM.format(kind=kind, map=AffineMapAttr(map_)), map_


@pytest.mark.sampled(8)
@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, POINTS)
def test_apply_is_exact(expr: AffineExpr, points: list[tuple[int, ...]]):
    text, map_ = _program("apply", [expr])
    module = apply(PASS, text)
    assert not has_affine(module)
    lowered, before = function(module), function(text)
    for point in points:
        (expected,) = map_.evaluate(point[:2], point[2:])
        assert lowered(*point) == expected == before(*point)


@pytest.mark.sampled(8)
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["min", "max"]),
    st.lists(EXPRESSIONS, min_size=1, max_size=4),
    POINTS,
)
def test_min_and_max_are_exact(
    kind: str, exprs: list[AffineExpr], points: list[tuple[int, ...]]
):
    text, map_ = _program(kind, exprs)
    module = apply(PASS, text)
    assert not has_affine(module)
    lowered = function(module)
    for point in points:
        values = map_.evaluate(point[:2], point[2:])
        assert lowered(*point) == (min(values) if kind == "min" else max(values))


@pytest.mark.cases("op", ["mod", "floordiv", "ceildiv"])
@pytest.mark.cases("divisor", [Const(2), Const(7), Const(16), Sym(1)])
def test_division_rounds_exactly(op: str, divisor: AffineExpr):
    text, map_ = _program("apply", [Binary(op, Dim(0), divisor)])
    lowered = function(apply(PASS, text))
    numbers = [*range(-33, 34), 2**31, -(2**31), 2**40 + 1, -(2**40) - 1]
    for number in numbers:
        for size in (1, 3, 5) if divisor == Sym(1) else (1,):
            (expected,) = map_.evaluate((number, 0), (0, size))
            assert lowered(number, 0, 0, size) == expected


# -- the rest stays --------------------------------------------------------------------

ACCESSES = """
func.func @f(%A: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %same = affine.apply affine_map<(d0) -> (d0)>(%n)
  %last = affine.apply affine_map<(d0) -> (d0 - 1)>(%same)
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> f32 {
    %j = affine.apply affine_map<()[s0] -> (s0 - 1)>()[%n]
    %v = affine.load %A[%j] : memref<?xf32>
    %w = affine.load %A[%n - 2] : memref<?xf32>
    %x = arith.addf %v, %w : f32
    %y = arith.addf %sum, %x : f32
    scf.yield %y : f32
  }
  %v = affine.load %A[%last] : memref<?xf32>
  %r = arith.addf %v, %s : f32
  return %r : f32
}
"""


def test_other_operations_stay_the_same_objects():
    import gpucodegen as gcg
    from gpucodegen.passes.lower_affine import LowerAffineApply

    before = gcg.parse(ACCESSES)
    after = LowerAffineApply().apply(before)
    kept = {op for op in after.walk() if not op.regions}
    lost = [op for op in before.walk() if not op.regions and op not in kept]
    assert [op.name for op in lost] == ["affine.apply"] * 3 + ["affine.load"]


def test_an_access_whose_index_is_arithmetic_now_is_affine_only_at_the_top():
    module = apply(PASS, ACCESSES)
    assert names(module).count("affine.load") == 2
    assert names(module).count("memref.load") == 1
    assert "affine.apply" not in names(module)
    assert "affine_map" not in str(module), "maps without use are not printed"


def test_unused_named_maps_are_gone():
    text = """
    #twice = affine_map<(d0) -> (d0 * 2)>
    func.func @f(%i: index) -> index {
      %r = affine.apply #twice(%i)
      return %r : index
    }"""
    assert "map" not in str(apply(PASS, text))


def test_functions_without_affine_operations_are_not_touched():
    import gpucodegen as gcg
    from gpucodegen.passes.lower_affine import LowerAffineApply

    before = gcg.parse("""
    func.func private @outside(index)
    func.func @plain(%i: index) -> index {
      %r = arith.addi %i, %i : index
      return %r : index
    }
    func.func @f(%i: index) -> index {
      %r = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
      return %r : index
    }""")
    after = LowerAffineApply().apply(before)
    same = [a is b for a, b in zip(before.operations, after.operations, strict=True)]
    assert same == [True, True, False]


# -- refusals --------------------------------------------------------------------------

LOOPS = {
    "affine.for": "affine.for %i = 0 to %n { }",
    "affine.if": "affine.if affine_set<(d0) : (d0 >= 0)>(%n) { }",
    "affine.parallel": "affine.parallel (%i) = (0) to (%n) { }",
}


@pytest.mark.parametrize("operation", LOOPS)
def test_loops_have_to_go_first(operation: str):
    text = f"func.func @f(%n: index) {{\n  {LOOPS[operation]}\n  return\n}}"
    with pytest.raises(errors.AffineControlFlow) as caught:
        apply(PASS, text)
    assert caught.value.code == "C021"
    place = caught.value.place
    assert place is not None
    assert place.line == 2
    assert operation in caught.value.message
    assert "lower-affine" in caught.value.message
    assert not has_affine(apply(f"lower-if-and-for,{PASS}", text))
