"""The passes that the documents name, on the programs that they print."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from lowering import apply, function, names

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.commands.deps import is_old
from gpucodegen.passes.analysis.queries import (
    functions_with_body,
    lift_accesses,
)
from gpucodegen.passes.framework.pipeline_text import PASSES, RENAMED, pass_class
from gpucodegen.tiling.proof.dependences import rows

# -- canonicalize ----------------------------------------------------------------------

SUBTRACTIONS = {
    "2018": """
cfgfunc @test_subi_zero_cfg(i32) -> i32 {
^bb0(%arg0: i32):
  %y = subi %arg0, %arg0 : i32
  return %y: i32
}
""",
    "2019": """
func @test_subi_zero_cfg(%arg0: i32) -> i32 {
  %y = subi %arg0, %arg0 : i32
  return %y: i32
}
""",
}


@pytest.mark.parametrize("vintage", SUBTRACTIONS)
def test_a_value_minus_itself_is_zero(vintage: str):
    folded = apply("canonicalize", SUBTRACTIONS[vintage])
    assert str(folded) == (
        "module {\n"
        "  func.func @test_subi_zero_cfg(%arg0: i32) -> i32 {\n"
        "    %y = arith.constant 0 : i32\n"
        "    return %y : i32\n"
        "  }\n"
        "}"
    )
    assert function(folded, "test_subi_zero_cfg")(-7) == 0


# -- lower-affine-apply ----------------------------------------------------------------

APPLIES = {
    "2018": """
cfgfunc @f(index, index, index) -> index {
^bb0(%d0: index, %d1: index, %s0: index):
  %r = affine_apply (d0, d1)[s0] -> (d0 + 2*d1 + s0)(%d0, %d1)[%s0]
  return %r : index
}
""",
    "2019": """
#map = (d0, d1)[s0] -> (d0 + 2*d1 + s0)
func @f(%d0: index, %d1: index, %s0: index) -> index {
  %r = affine.apply #map(%d0, %d1)[%s0]
  return %r : index
}
""",
}


@pytest.mark.parametrize("vintage", APPLIES)
def test_a_map_becomes_the_operations_it_comprises(vintage: str):
    lowered = apply("lower-affine-apply", APPLIES[vintage])
    assert str(lowered) == (
        "module {\n"
        "  func.func @f(%d0: index, %d1: index, %s0: index) -> index {\n"
        "    %c = arith.constant 2 : index\n"
        "    %0 = arith.muli %d1, %c : index\n"
        "    %1 = arith.addi %d0, %0 : index\n"
        "    %r = arith.addi %1, %s0 : index\n"
        "    return %r : index\n"
        "  }\n"
        "}"
    )
    assert function(lowered)(-5, 7, 100) == 109


# -- lower if and for ------------------------------------------------------------------

LOOPS = {
    "2018": """
mlfunc @f(%A : memref<?xf32>, %n : index) {
  for %i = 0 to %n {
    %v = load %A[%i] : memref<?xf32>
    if (d0) : (d0 - 2 >= 0) (%i) {
      store %v, %A[%i] : memref<?xf32>
    }
  }
  return
}
""",
    "2019": """
func @f(%A: memref<?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    %v = load %A[%i] : memref<?xf32>
    affine.if (d0) : (d0 - 2 >= 0) (%i) {
      store %v, %A[%i] : memref<?xf32>
    }
  }
  return
}
""",
}

IN_BLOCKS = """\
module {
  func.func @f(%A: memref<?xf32>, %n: index) {
    %c = arith.constant 0 : index
    cf.br ^bb1(%c : index)
  ^bb1(%i: index):
    %0 = arith.cmpi slt, %i, %n : index
    cf.cond_br %0, ^bb2, ^bb5
  ^bb2:
    %v = memref.load %A[%i] : memref<?xf32>
    %1 = affine.apply affine_map<(d0) -> (d0 - 2)>(%i)
    %c_0 = arith.constant 0 : index
    %2 = arith.cmpi sge, %1, %c_0 : index
    cf.cond_br %2, ^bb3, ^bb4
  ^bb3:
    memref.store %v, %A[%i] : memref<?xf32>
    cf.br ^bb4
  ^bb4:
    %c_1 = arith.constant 1 : index
    %3 = arith.addi %i, %c_1 : index
    cf.br ^bb1(%3 : index)
  ^bb5:
    return
  }
}"""


@pytest.mark.parametrize("vintage", LOOPS)
def test_loops_become_initialisation_check_and_body(vintage: str):
    pass_ = {"2018": "convert-to-cfg", "2019": "lower-if-and-for"}[vintage]
    assert str(apply(pass_, LOOPS[vintage])) == IN_BLOCKS


# -- memref-dependence-check -----------------------------------------------------------

DIFFERENT_MEMREFS = {
    "2018": """
mlfunc @different_memrefs() {
  %m.a = alloc() : memref<100xf32>
  %m.b = alloc() : memref<100xf32>
  %c0 = constant 0 : index
  %c1 = constant 1.0 : f32
  store %c1, %m.a[%c0] : memref<100xf32>
  %v0 = load %m.b[%c0] : memref<100xf32>
  return
}
""",
    "2019": """
func @different_memrefs() {
  %m.a = alloc() : memref<100xf32>
  %m.b = alloc() : memref<100xf32>
  %c0 = constant 0 : index
  %c1 = constant 1.0 : f32
  store %c1, %m.a[%c0] : memref<100xf32>
  %v0 = load %m.b[%c0] : memref<100xf32>
  return
}
""",
}

SHIFTED = """
func.func @shifted(%A: memref<11xf32>) {
  affine.for %i = 0 to 10 {
    %v = affine.load %A[%i] : memref<11xf32>
    affine.store %v, %A[%i + 1] : memref<11xf32>
  }
  return
}
"""


def _reported(text: str) -> list[errors.DependenceReported]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        apply("memref-dependence-check", text)
    found = [w.message for w in caught]
    return [m for m in found if isinstance(m, errors.DependenceReported)]


@pytest.mark.parametrize("vintage", DIFFERENT_MEMREFS)
def test_different_memrefs_are_independent(vintage: str):
    found = _reported(DIFFERENT_MEMREFS[vintage])
    assert len(found) == 4
    assert {remark.details["result"] for remark in found} == {"false"}


@pytest.mark.parametrize("text", [*DIFFERENT_MEMREFS.values(), SHIFTED])
def test_the_pass_reports_the_rows_of_deps(text: str):
    (listed,) = functions_with_body(gcg.parse(text))
    expected = rows(lift_accesses(listed, plain=is_old(text)).scop)
    found = [
        tuple(r.details[key] for key in ("source", "sink", "depth", "result"))
        for r in _reported(text)
    ]
    assert found == expected


def test_a_remark_says_which_accesses_where_and_how_far():
    (carried,) = [r for r in _reported(SHIFTED) if r.details["result"] != "false"]
    text = str(carried)
    assert "remark: dependence from 1 to 0 at depth 1 = [1, 1]" in text
    assert [line.split(": ")[0] for line in text.split("\n")] == [
        "<string>:5:5",
        "<string>:4:10",
    ]


def test_buffers_without_a_rank_may_depend():
    text = SHIFTED.replace(
        "  affine.for",
        "  %u = memref.cast %A : memref<11xf32> to memref<*xf32>\n"
        "  %B = memref.cast %u : memref<*xf32> to memref<?xf32>\n  affine.for",
    ).replace(
        "affine.store %v, %A[%i + 1] : memref<11xf32>",
        "affine.store %v, %B[%i] : memref<?xf32>",
    )
    assert "true" in {remark.details["result"] for remark in _reported(text)}


def test_the_check_changes_nothing():
    before = gcg.parse(SHIFTED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert pass_class("memref-dependence-check")().apply(before) is before


# -- the names -------------------------------------------------------------------------


@pytest.mark.cases("name", PASSES)
def test_every_pass_is_found_by_its_name(name: str):
    older = {"convert-to-cfg": "lower-if-and-for"}
    assert pass_class(name).name == older.get(name, name)


def test_the_pages_of_passes_name_them_all():
    docs = Path(__file__).parents[2] / "docs"
    pages = [docs / "passes.md", docs / "transformations.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in PASSES if f"`{name}`" not in text] == []


def test_a_lowered_2018_program_runs():
    import numpy as np

    text = (
        LOOPS["2018"]
        .replace("store %v,", "store %w,")
        .replace("    if", "    %w = addf %v, %v : f32\n    if")
    )
    lowered = apply("convert-to-cfg,lower-affine-apply", text)
    assert "affine.apply" not in names(lowered)
    values = np.arange(5, dtype="f4")
    function(lowered)(values, 5)
    assert values.tolist() == [0, 1, 4, 6, 8]


@pytest.mark.parametrize("old", RENAMED)
def test_a_name_of_an_earlier_version_is_refused_with_the_present_one(old: str) -> None:
    assert RENAMED[old] in PASSES
    with pytest.raises(errors.UnknownPass, match=f"is called {RENAMED[old]} now"):
        pass_class(old)
