"""The default order of loops on the CPU: what changes, and that no result does.

Small loops are reordered only because the tests lower the thresholds.
"""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from affine_programs import arguments, programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from interpreter import interpret
from lowering import apply

import gpucodegen as gcg
from gpucodegen.passes.loops import improve_locality


@pytest.mark.sampled(12)
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(programs(), st.integers(1, 3))
def test_order_and_results_stay(text: str, threads: int):
    before = interpret(gcg.parse(text), arguments(2))
    with (
        patch.object(improve_locality, "SHORTEST", 1),
        patch.object(improve_locality, "BLOCK", 1),
    ):
        changed = apply(f"improve-locality{{threads={threads}}}", text)
    after = interpret(changed, arguments(2))
    assert after.order == before.order
    for got, expected in zip(after.arrays, before.arrays, strict=True):
        np.testing.assert_array_equal(got, expected)


COLUMN_SUMS = """func.func @f(%A: memref<300x400xf64>, %s: memref<400xf64>) {
  %zero = arith.constant 0.0 : f64
  affine.for %j = 0 to 400 {
    affine.store %zero, %s[%j] : memref<400xf64>
    affine.for %i = 0 to 300 {
      %x = affine.load %A[%i, %j] : memref<300x400xf64>
      %y = affine.load %s[%j] : memref<400xf64>
      %z = arith.addf %y, %x : f64
      affine.store %z, %s[%j] : memref<400xf64>
    }
  }
  return
}"""


def headers(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if "affine.for" in line]
    return [line.removeprefix("affine.for ").removesuffix(" {") for line in lines]


def test_columns_become_rows_after_distribution():
    text = str(apply("improve-locality", COLUMN_SUMS))
    assert headers(text) == ["%j = 0 to 400", "%i = 0 to 300", "%j = 0 to 400"]


def test_nests_inside_of_a_loop_that_stays_are_ordered():
    """An allocation keeps the outer loop together."""
    text = str(
        apply(
            "improve-locality",
            """func.func @f(%A: memref<300x400xf64>, %s: memref<300x400xf64>) {
  %zero = arith.constant 0.0 : f64
  affine.for %k = 0 to 300 {
    %t = memref.alloc() : memref<400xf64>
    affine.for %j = 0 to 400 {
      affine.store %zero, %t[%j] : memref<400xf64>
    }
    affine.for %j = 0 to 400 {
      affine.for %i = 0 to 300 {
        %x = affine.load %A[%i, %j] : memref<300x400xf64>
        %y = affine.load %t[%j] : memref<400xf64>
        %z = arith.addf %y, %x : f64
        affine.store %z, %t[%j] : memref<400xf64>
      }
    }
    affine.for %j = 0 to 400 {
      %x = affine.load %t[%j] : memref<400xf64>
      affine.store %x, %s[%k, %j] : memref<300x400xf64>
    }
    memref.dealloc %t : memref<400xf64>
  }
  return
}""",
        )
    )
    assert headers(text) == [
        "%k = 0 to 300",
        "%j = 0 to 400",
        "%i = 0 to 300",
        "%j = 0 to 400",
        "%j = 0 to 400",
    ]


STEPS = """func.func @f(%u: memref<90x70xf64>, %c: memref<90x70xi32>) {
  %two = arith.constant 2.0 : f64
  affine.for %step = 0 to 5 {
    %t = memref.alloc() : memref<90x70xf64>
    affine.for %i = 0 to 90 {
      affine.for %j = 0 to 70 {
        %x = affine.load %u[%i, %j] : memref<90x70xf64>
        %y = arith.mulf %x, %two : f64
        affine.store %y, %t[%i, %j] : memref<90x70xf64>
      }
    }
    affine.for %i = 0 to 90 {
      affine.for %j = 0 to 70 {
        %x = affine.load %t[%i, AT] : memref<90x70xf64>
        %b = arith.cmpf olt, %x, %two : f64
        %n = arith.extui %b : i1 to i32
        %m = affine.load %c[%i, %j] : memref<90x70xi32>
        %o = arith.addi %m, %n : i32
        affine.store %o, %c[%i, %j] : memref<90x70xi32>
      }
    }
    affine.for %i = 0 to 90 {
      affine.for %j = 0 to 70 {
        %x = affine.load %t[%i, %j] : memref<90x70xf64>
        affine.store %x, %u[%i, %j] : memref<90x70xf64>
      }
    }
    memref.dealloc %t : memref<90x70xf64>
  }
  return
}"""


@pytest.mark.parametrize(("column", "loops"), [("%j", 3), ("69 - %j", 4)])
def test_parallel_nests_of_a_time_step_are_fused(column: str, loops: int):
    """Nests with mirrored columns share the rows alone."""
    text = STEPS.replace("AT", column)
    changed = apply("improve-locality{threads=2},contract-arrays", text)
    assert str(changed).count("affine.for") == loops
    assert ("memref.alloc()" in str(changed)) == (loops == 4)
    u, c = np.random.default_rng(0).random((90, 70)) / 9, np.zeros((90, 70), np.int32)
    want, count = u * 2.0**5, sum((u * 2.0**n < 2.0) * 1 for n in range(1, 6))
    if loops == 4:
        count = count[:, ::-1]
    gcg.compile(text, target="cpu", threads=2).f(u, c)
    np.testing.assert_array_equal(u, want)
    np.testing.assert_array_equal(c, count)


def test_serial_nests_of_a_time_step_stay_apart():
    text = """func.func @f(%a: memref<400xf64>, %b: memref<400xf64>) {
  affine.for %step = 0 to 5 {
    affine.for %i = 1 to 400 {
      %x = affine.load %a[%i - 1] : memref<400xf64>
      %y = arith.mulf %x, %x : f64
      affine.store %y, %a[%i] : memref<400xf64>
    }
    affine.for %i = 1 to 400 {
      %x = affine.load %a[%i] : memref<400xf64>
      %p = affine.load %b[%i - 1] : memref<400xf64>
      %y = arith.addf %x, %p : f64
      affine.store %y, %b[%i] : memref<400xf64>
    }
  }
  return
}"""
    assert len(headers(str(apply("improve-locality{threads=2}", text)))) == 3


def test_blocks_of_columns_stay_parallel():
    text = str(apply("improve-locality{threads=3}", COLUMN_SUMS))
    assert headers(text)[1:3] == ["%j_tile = 0 to 400 step 134", "%i = 0 to 300"]


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_are_the_same_bit_by_bit(threads: int):
    a = np.random.default_rng(3).standard_normal((300, 400))
    expected = np.zeros(400)
    for row in a:
        expected += row
    got = np.full(400, np.nan)
    gcg.compile(COLUMN_SUMS, target="cpu", threads=threads).f(a, got)
    np.testing.assert_array_equal(got, expected)


PAIR = """func.func @f(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %x: memref<64xf32>,
    %y: memref<64xf32>) {{
  affine.for %i = 0 to 64 {{
    affine.for %j = 0 to 64 {{
      %a = affine.load %A[%i, %j] : memref<64x64xf32>
      %b = arith.addf %a, %a : f32
      affine.store %b, %B[%i, %j] : memref<64x64xf32>
    }}
  }}
  affine.for %k = 0 to 64 {{
    affine.for %l = 0 to 64 {{
      %a = affine.load %B[{index}] : memref<64x64xf32>
      %s = affine.load %x[%k] : memref<64xf32>
      %t = arith.{op} %s, %a : f32
      affine.store %t, %{target}[%k{more}] : memref<64{size}xf32>
    }}
  }}
  return
}}"""


def fused(index: str, op: str = "addf", target: str = "x") -> list[str]:
    is_matrix = target == "A"
    text = PAIR.format(
        index=index,
        op=op,
        target=target,
        more=", %l" if is_matrix else "",
        size="x64" if is_matrix else "",
    )
    return [name.split()[0] for name in headers(str(apply("improve-locality", text)))]


def test_elementwise_consumers_join_their_producer():
    assert fused("%k, %l", target="A") == ["%i", "%j"]


def test_sums_share_the_rows_but_not_the_innermost_loop():
    assert fused("%k, %l") == ["%i", "%j", "%l"]


TERMS = """func.func @f(%A: memref<64xf32>, %B: memref<64xf32>, %o: memref<64xf32>) {{
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {{
    %a = affine.load %A[%i] : memref<64xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %t[%i] : memref<64xf32>
  }}
  affine.for %m = 0 to 64 {{
    {between}
  }}
  %sum = affine.for %k = 0 to 64 iter_args(%s = %zero) -> (f32) {{
    %a = affine.load %t[%k] : memref<64xf32>
    %n = arith.{combine} : f32
    affine.yield %n : f32
  }}
  affine.store %sum, %o[0] : memref<64xf32>
  memref.dealloc %t : memref<64xf32>
  return
}}"""
FREE, ORDERED = "addf %s, %a fastmath<reassoc>", "addf %s, %a"
APART = "affine.store %zero, %B[%m] : memref<64xf32>"
CHANGES_TERMS = "affine.store %zero, %t[63 - %m] : memref<64xf32>"
CHANGES_INPUT = "affine.store %zero, %A[63 - %m] : memref<64xf32>"
USES_TERMS = """%x = affine.load %t[63 - %m] : memref<64xf32>
    affine.store %x, %B[%m] : memref<64xf32>"""


@pytest.mark.parametrize(
    ("combine", "between", "loops"),
    [
        (FREE, APART, ["%i", "%m"]),
        (FREE, USES_TERMS, ["%i", "%m"]),
        (FREE, CHANGES_INPUT, ["%i", "%m"]),
        (FREE, CHANGES_TERMS, ["%i", "%m", "%sum"]),
        (ORDERED, APART, ["%i", "%m", "%sum"]),
        ("maximumf %s, %a", APART, ["%i", "%m"]),
    ],
)
@pytest.mark.parametrize("name", ["improve-locality", "fuse-elementwise"])
def test_a_reduction_takes_the_loop_of_its_terms(
    name: str, combine: str, between: str, loops: list[str]
) -> None:
    """A sum in order does not, nor where other loops change the terms in between.

    On a GPU they stay apart, too, where another loop reads the terms.
    """
    text = TERMS.format(combine=combine, between=between)
    made = apply(f"{name}{{relaxed=false}}", text)
    found = [line.split()[0] for line in headers(str(made))]
    if name == "fuse-elementwise" and between == USES_TERMS:
        assert len(found) == 3
        return
    assert len(found) == len(loops)
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(64).astype("f4") for _ in range(3)]
    others = [a.copy() for a in arrays]
    gcg.compile(text, target="interp").f(*arrays)
    gcg.compile(made, target="interp").f(*others)
    for one, other in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(one, other)


def test_terms_that_no_pass_contracts_stay_apart_on_a_gpu() -> None:
    text = TERMS.format(combine=FREE, between=APART)
    text = text.replace("affine.load %t[%k]", "memref.load %t[%k]")
    made = apply("fuse-elementwise", text)
    assert len(headers(str(made))) == 3


def test_a_reduction_along_two_loops_takes_both() -> None:
    text = """func.func @f(%A: memref<8x9xf64>, %B: memref<8x9xf64>) -> f64 {
  %zero = arith.constant 0.0 : f64
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 9 {
      %a = affine.load %A[%i, %j] : memref<8x9xf64>
      affine.store %a, %B[%i, %j] : memref<8x9xf64>
    }
  }
  %sum = affine.for %k = 0 to 8 iter_args(%r = %zero) -> (f64) {
    %part = affine.for %l = 0 to 9 iter_args(%s = %r) -> (f64) {
      %a = affine.load %B[%k, %l] : memref<8x9xf64>
      %n = arith.addf %s, %a fastmath<reassoc> : f64
      affine.yield %n : f64
    }
    affine.yield %part : f64
  }
  return %sum : f64
}"""
    assert len(headers(str(apply("improve-locality{threads=2}", text)))) == 2


def test_later_rows_are_not_ready():
    assert fused("-%k + 63, %l", target="A") == ["%i", "%j", "%k", "%l"]


def test_what_is_written_keeps_its_order_where_it_must():
    shifted = "affine.store %z, %s[(%j + %i) mod 400]"
    text = COLUMN_SUMS.replace("affine.store %z, %s[%j]", shifted)
    assert headers(str(apply("improve-locality", text))) == headers(text)


def test_products_are_left_to_register_tiles():
    text = """func.func @f(%A: memref<64x64xf32>, %B: memref<64x64xf32>,
    %C: memref<64x64xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 64 {
        %a = affine.load %A[%i, %k] : memref<64x64xf32>
        %b = affine.load %B[%k, %j] : memref<64x64xf32>
        %c = affine.load %C[%i, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}"""
    kept = apply("improve-locality", text)
    assert [name[:2] for name in headers(str(kept))] == ["%i", "%j", "%k"]
    moved = apply("improve-locality{contractions=false}", text)
    assert [name[:2] for name in headers(str(moved))] == ["%i", "%k", "%j"]


def test_one_strided_array_is_no_reason_to_give_vectors_up():
    text = """func.func @f(%A: memref<64x64xf32>, %C: memref<64x64xf32>) {
  affine.for %k = 0 to 64 {
    affine.for %j = 0 to 64 {
      %a = affine.load %A[%j, %k] : memref<64x64xf32>
      %c = affine.load %C[0, %j] : memref<64x64xf32>
      %s = arith.addf %c, %a : f32
      affine.store %s, %C[0, %j] : memref<64x64xf32>
    }
  }
  return
}"""
    kept = str(apply("improve-locality", text))
    assert [name[:2] for name in headers(kept)] == ["%k", "%j"]
    both = text.replace("%C[0, %j]", "%C[%j, 0]")
    moved = str(apply("improve-locality", both))
    assert [name[:2] for name in headers(moved)] == ["%j", "%k"]
