"""Reads of memory that nothing has written are warned about, and only those."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import gpucodegen as gcg
from gpucodegen import cli, errors
from gpucodegen.passes.checks.buffers import CheckReads


def warned(text: str) -> list[warnings.WarningMessage]:
    module = gcg.parse(text, "r.mlir", allow_unregistered=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CheckReads().apply(module)
    return caught


def body(inner: str) -> str:
    return f"""func.func private @use(memref<4xf32>)
func.func private @give(memref<4xf32>) -> memref<4xf32>
func.func @chain(%t: memref<4xf32>, %x: f32) {{
  affine.for %i = 0 to 4 {{
    affine.if affine_set<(d) : (d - 1 >= 0)>(%i) {{
      %v = affine.load %t[%i - 1] : memref<4xf32>
      func.call @say(%v) : (f32) -> ()
    }}
    affine.store %x, %t[%i] : memref<4xf32>
  }}
  return
}}
func.func private @say(f32)
func.func @f(%A: memref<4xf32>, %p: i1, %n: index, %I: memref<4xindex>, %x: f32) {{
  %t = memref.alloc() : memref<4xf32>
  {inner}
  affine.for %i = 0 to 4 {{
    %v = affine.load %t[%i] : memref<4xf32>
    affine.store %v, %A[%i] : memref<4xf32>
  }}
  return
}}"""


def test_the_place_and_an_iteration_are_named():
    (found,) = warned(body(""))
    assert isinstance(found.message, errors.UndefinedRead)
    assert found.message.place is not None
    assert found.message.place.line == 18
    assert str(found.message).startswith("r.mlir:18:")
    assert "iteration (i=0) reads the undefined t[0]" in str(found.message)
    assert str(found.message).rstrip().split(". ")[-1].startswith("Write it first")


@pytest.mark.parametrize(
    "inner",
    [
        "affine.store %x, %t[2] : memref<4xf32>",
        "memref.store %x, %t[%n] : memref<4xf32>",
        """affine.for %j = 1 to 4 {
          affine.store %x, %t[%j] : memref<4xf32>
        }""",
    ],
)
def test_some_iterations_only_may_find_nothing(inner: str):
    (found,) = warned(body(inner))
    assert isinstance(found.message, errors.PossiblyUndefinedRead)


@pytest.mark.cases(
    "inner",
    [
        "memref.copy %A, %t : memref<4xf32> to memref<4xf32>",
        "linalg.fill ins(%x : f32) outs(%t : memref<4xf32>)",
        "func.call @use(%t) : (memref<4xf32>) -> ()",
        "%u = func.call @give(%t) : (memref<4xf32>) -> memref<4xf32>",
        """affine.for %q = 0 to 4 {
          %k = affine.load %I[%q] : memref<4xindex>
          memref.store %x, %t[%k] : memref<4xf32>
        }""",
        "func.call @chain(%t, %x) : (memref<4xf32>, f32) -> ()",
        '"my.fill"(%t) : (memref<4xf32>) -> ()',
        """%c = memref.cast %t : memref<4xf32> to memref<?xf32>
        affine.for %q = 0 to 4 {
          affine.store %x, %c[%q] : memref<?xf32>
        }""",
        """scf.if %p {
          func.call @use(%t) : (memref<4xf32>) -> ()
        }""",
        """%s = arith.select %p, %t, %A : memref<4xf32>
        affine.store %x, %s[0] : memref<4xf32>""",
        """%z = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %tag = memref.alloc() : memref<1xi32>
        memref.dma_start %A[%z], %t[%z], %c4, %tag[%z]
          : memref<4xf32>, memref<4xf32>, memref<1xi32>
        memref.dma_wait %tag[%z], %c4 : memref<1xi32>""",
    ],
)
def test_what_may_have_written_is_believed(inner: str):
    assert warned(body(inner)) == []


def test_arrays_without_elements_are_no_case():
    """A loop over an argument writes %t, unless the argument is empty."""
    text = """func.func @f(%a: memref<?xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %n = memref.dim %a, %c0 : memref<?xf32>
      %t = memref.alloc() : memref<f32>
      affine.for %i = FIRST to %n {
        %v = affine.load %a[%i] : memref<?xf32>
        affine.store %v, %t[] : memref<f32>
      }
      %r = affine.load %t[] : memref<f32>
      return %r : f32
    }"""
    assert warned(text.replace("FIRST", "0")) == []
    (found,) = warned(text.replace("FIRST", "1"))  # an array of one element
    assert isinstance(found.message, errors.PossiblyUndefinedRead)


def test_blocks_run_in_any_order():
    text = """func.func @f(%p: i1, %x: f32) -> f32 {
      %t = memref.alloc() : memref<f32>
      cf.br ^fill
    ^use:
      %v = memref.load %t[] : memref<f32>
      return %v : f32
    ^fill:
      memref.store %x, %t[] : memref<f32>
      cf.br ^use
    }"""
    assert warned(text) == []


def test_a_buffer_of_each_iteration_is_a_new_one():
    text = """func.func @f(%A: memref<4xf32>, %x: f32) {
      affine.for %i = 0 to 4 {
        %t = memref.alloca() : memref<f32>
        %v = affine.load %t[] : memref<f32>
        affine.store %x, %t[] : memref<f32>
        affine.store %v, %A[%i] : memref<4xf32>
      }
      return
    }"""
    (found,) = warned(text)
    assert isinstance(found.message, errors.UndefinedRead)


def test_compile_warns_and_analyze_shows():
    text = body("")
    with pytest.warns(errors.UndefinedRead):
        analysis = gcg.analyze(gcg.parse(text))
    assert "undefined: iteration (i=0) reads" in str(analysis)
    program = gcg.compile(text, target="cpu")
    with pytest.warns(errors.UndefinedRead):
        program["f"].executable("cpu")


def test_the_command_line_warns_when_it_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "r.mlir"
    path.write_text(body(""), encoding="utf-8")
    said = "r.mlir:18:10: warning: t is read but holds no value yet"
    assert cli.main(["opt", "--verify", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert cli.main(["opt", "-p", "check-reads", str(path)]) == 0
    assert said in capsys.readouterr().err
