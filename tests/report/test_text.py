"""What the text says of well-known nests."""

from __future__ import annotations

import re

import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.report.report_nests import DIAGONAL, LU, SEIDEL, SWEEP, example


def lines(text: str, **options: object) -> list[str]:
    shown = str(gcg.explain(text, **{"targets": (), **options}))
    return [line.strip() for line in shown.splitlines()]


def under(found: list[str], title: str) -> str:
    """The line after a title."""
    return found[found.index(title) + 1]


def test_matmul_is_judged_loop_by_loop():
    found = lines(example("matmul"))
    assert [x for x in found if re.match(r"[ijk]: ", x)] == [
        "i: parallel",
        "j: parallel",
        "k: reduction (add)",
    ]
    assert under(found, "values") == "read from before: A, B, C"
    assert "used afterwards: C" in found
    assert under(found, "bands").startswith("(i, j, k) permutable")
    assert under(found, "contraction") == "C[i, j] += A[i, k] * B[k, j]"
    assert "M: i, N: j, K: k" in found
    assert "A  32 x 32  4 KiB" in found
    needs = under(found, "extents of arguments need")
    assert needs == "dim 0 of B >= K and dim 0 of C >= M and dim 1 of C >= N"
    assert "accesses not proven right" not in found


def test_why_not_names_both_source_lines():
    found = lines(example("matmul"))
    at = found.index("write after read on C, distance (0, 0, [1, +inf])")
    witness, reads, writes = found[at + 1 : at + 4]
    assert witness.startswith("S0 at (i=0, j=0, k=0) reads C[0, 0] and S0 at (i=0, j=0")
    assert reads == (
        "reads at <string>:15:14: %c = affine.load %C[%i, %j] : memref<?x?xf32>"
    )
    assert writes.startswith("writes at <string>:18:9: affine.store %sum")


def test_strides_in_elements():
    rows = {tuple(line.split()[:3]): line.split()[3:] for line in lines(SWEEP)}
    assert rows["read", "A[i", "-"] == ["1,", "j]", "A_size1", "1"]
    rows = {line.split("]")[0]: line.split()[-3:] for line in lines(example("matmul"))}
    assert rows["read   A[i, k"] == ["K", "0", "1"]
    assert rows["read   B[k, j"] == ["0", "1", "N"]


def test_the_refused_band_names_the_dependence():
    found = lines(DIAGONAL)
    assert under(found, "bands") == "(i) alone"
    ended = found[found.index("(i) alone") + 1]
    assert ended.startswith("ends there: a dependence points backward along loop j: S0")


def test_fronts_of_sequential_loops():
    wanted = "iterations with one value of {} may run at once"
    assert under(lines(SEIDEL), "fronts") == wanted.format("2*t + i")
    assert under(lines(SWEEP), "fronts") == wanted.format("i + j")
    assert "fronts" not in lines(example("matmul"))


def test_copies_that_make_a_loop_parallel():
    text = """func.func @f(%A: memref<8x8xf32>) {
  %t = memref.alloc() : memref<f32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %x = affine.load %A[%i, %j] : memref<8x8xf32>
      affine.store %x, %t[] : memref<f32>
      %y = affine.load %t[] : memref<f32>
      %z = arith.mulf %y, %y : f32
      affine.store %z, %A[%i, %j] : memref<8x8xf32>
    }
  }
  return
}"""
    found = lines(text)
    assert "i: parallel after privatisation of t" in found
    assert any("both write t[]" in line for line in found)


def test_a_triangle_is_no_rectangle():
    (band,) = [line for line in lines(LU) if line.startswith("(k, i)")]
    assert band.endswith("bounds depend on each other, not a rectangle")


@pytest.mark.slow
def test_kernels_on_both_targets():
    found = lines(example("jacobi_2d"), targets=("cuda", "cpu"), sizes=258)
    title = "@jacobi_2d on cuda for H = 258, W = 258, B_size0 = 258, B_size1 = 258"
    assert title in found
    assert any(re.fullmatch(r"grid of .* blocks, each of .* threads", x) for x in found)
    assert found.count("mark: barrier") == 3
    assert found.count("races: proven absent") == 2
    assert any(line.endswith("iterations on the CPU threads") for line in found)


def test_a_contraction_shows_its_shared_tiles():
    found = lines(example("matmul"), targets=("cuda",), sizes=256)
    tiles = [line for line in found if "in fast memory" in line]
    assert len(tiles) == 2
    assert found.count("mark: barrier") == 2


def test_buffers_of_a_thread_are_private():
    text = """func.func @f(%A: memref<64x4xf32>) {
  affine.parallel (%i) = (0) to (64) {
    %t = memref.alloca() : memref<4xf32>
    affine.for %j = 0 to 4 {
      %x = affine.load %A[%i, %j] : memref<64x4xf32>
      affine.store %x, %t[3 - %j] : memref<4xf32>
    }
    affine.for %j = 0 to 4 {
      %y = affine.load %t[%j] : memref<4xf32>
      affine.store %y, %A[%i, %j] : memref<64x4xf32>
    }
  }
  return
}"""
    found = lines(text, targets=("cuda",))
    (row,) = [line.split() for line in found if line.startswith("t  writes")]
    assert " ".join(row) == "t writes 4 in private memory 16 B 4 by its first thread"


def test_an_error_of_the_mapping_is_told_not_raised():
    text = """func.func @f(%A: memref<4xf32>) {
  affine.for %i = 0 to 5 {
    %x = affine.load %A[%i] : memref<4xf32>
    affine.store %x, %A[%i] : memref<4xf32>
  }
  return
}"""
    found = lines(text, targets=("cpu",))
    assert any(line.startswith("not compiled: access of A is out of") for line in found)
    assert any("outside dimension 0 of extent 4" in line for line in found)


def test_nests_are_numbered_over_all_functions():
    found = lines(example("triangular_solve"))
    assert [line for line in found if line.startswith("nest ")] == ["nest 0", "nest 1"]
    explanation = gcg.explain(example("triangular_solve"), targets=())
    assert "@trsm, nest 1" in explanation.svg(1)


def test_functions_are_chosen_by_name():
    text = example("triangular_solve")
    assert [x for x in lines(text) if x.startswith("@")] == ["@trsv", "@trsm"]
    assert [x for x in lines(text, function="trsm") if x[:1] == "@"] == ["@trsm"]
    with pytest.raises(errors.UnknownFunction, match="Known functions: trsv, trsm"):
        gcg.explain(text, function="lu")


def test_loops_without_affine_bounds():
    text = """func.func @f(%A: memref<?xf32>, %n: memref<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.load %n[] : memref<i32>
  %1 = arith.index_cast %0 : i32 to index
  %x = arith.constant 0.0 : f32
  scf.for %i = %c0 to %1 step %1 {
    memref.store %x, %A[%i] : memref<?xf32>
  }
  return
}"""
    found = lines(text)
    assert "not affine: how often it runs is not known" in found
    with pytest.raises(errors.NoPicture, match="Draw its schedule tree instead"):
        gcg.explain(text, targets=()).svg()


@pytest.mark.cases(
    ("sizes", "message"),
    [
        ("N", "Write N=8 with a number"),
        ("N=-1", "Write N=8 with a number"),
        ("N=99999999999999999999", "Write N=8 with a number"),
        ("T=4,A_size=8", "Did you mean 'A_size0'"),
        ({"Z": 3}, "Known names: A_size0, N, T"),
    ],
)
def test_sizes_are_checked(sizes: object, message: str):
    with pytest.raises(errors.InvalidOption, match=message):
        gcg.explain(SEIDEL, targets=(), sizes=sizes)


def test_nothing_to_explain():
    explanation = gcg.explain("func.func private @g()")
    assert explanation.text() == ""
    with pytest.raises(errors.NoPicture, match="there are 0 nests"):
        explanation.svg()


def test_kernels_are_judged_before_their_exchanges_are_lowered() -> None:
    text = """
    func.func @total(%a: memref<100xf32>, %sum: memref<f32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c100 = arith.constant 100 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                 threads(%tx, %ty, %tz) in (%sx = %c100, %sy = %c1, %sz = %c1) {
        %x = memref.load %a[%tx] : memref<100xf32>
        %all = gpu.all_reduce add %x {} : (f32) -> f32
        %first = arith.cmpi eq, %tx, %c0 : index
        scf.if %first {
          memref.store %all, %sum[] : memref<f32>
        }
        gpu.terminator
      }
      return
    }"""
    shown = str(gcg.explain(text, targets=["cuda"]))
    assert "races: proven absent" in shown


def test_copies_of_tensors_are_named_with_what_reads_the_old_value() -> None:
    text = """func.func @f(%t: tensor<8xf32>, %i: index) -> (tensor<8xf32>, f32) {
      %c = arith.constant 1.0 : f32
      %u = tensor.insert %c into %t[%i] : tensor<8xf32>
      %v = tensor.insert %c into %u[%i] : tensor<8xf32>
      %w = tensor.insert %c into %v[%i] : tensor<8xf32>
      %x = tensor.extract %u[%i] : tensor<8xf32>
      return %w, %x : tensor<8xf32>, f32
    }"""
    explained = gcg.explain(text, targets=[])
    copied = [copy.details["tensor"] for copy in explained.functions[0].subject.copies]
    assert copied == ["'%t'", "'%u'"]
    shown = explained.text()
    assert "works on a copy of '%u': 'tensor.extract' reads the old value" in shown
    assert "it is read here: <string>:6:12" in shown
    assert "reads the old value" in explained.html()
