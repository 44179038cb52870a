"""Loops that accumulate, on vectors: where any order is allowed, and only there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from test_vectorize import kernel, run

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.vectorize import Vectorize
from tests.extremes import maximumf, minimumf

ROWS, COLUMNS = 3, 150
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
COMBINE = {
    "addf": np.add,
    "mulf": np.multiply,
    "maximumf": maximumf,
    "minimumf": minimumf,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "addi": np.add,
    "muli": np.multiply,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "xori": np.bitwise_xor,
    "andi": np.bitwise_and,
}
FLAGS = "fastmath<reassoc>"


@dataclass(frozen=True)
class Reduction:
    """``y[i] = y[i] OP (x[i][j] OP2 s) OP ..`` for ``first <= j < last``.

    ``carried``: by the loop, in no cell.
    """

    dtype: str
    combine: str
    first: int
    last: int
    dynamic: bool
    stores: bool
    swapped: bool
    carried: bool = False

    @property
    def arguments(self) -> str:
        ty = f"memref<{ROWS}x{COLUMNS}x{self.dtype}>"
        return f"%x: {ty}, %y: memref<{ROWS}x{self.dtype}>, %z: {ty}, %n: index"

    @property
    def body(self) -> str:
        ty = f"memref<{ROWS}x{COLUMNS}x{self.dtype}>"
        flags = FLAGS if self.combine in {"addf", "mulf"} else ""
        operands = "%t, %o" if self.swapped else "%o, %t"
        negate = "arith.subf" if self.dtype[0] == "f" else "arith.subi"
        store = f"affine.store %t, %z[%i, %j] : {ty}" if self.stores else ""
        load = f"affine.load %y[%i] : memref<{ROWS}x{self.dtype}>"
        keep = f"%y[%i] : memref<{ROWS}x{self.dtype}>"
        line = f"affine.for %j = {self.first} to {'%n' if self.dynamic else self.last}"
        step = f"""
            %a = affine.load %x[%i, %j] : {ty}
            %t = {negate} %c, %a : {self.dtype}
            {store}
            {"" if self.carried else f"%o = {load}"}
            %r = arith.{self.combine} {operands} {flags} : {self.dtype}"""
        row = f"{line} {{ {step} affine.store %r, {keep} }}"
        if self.carried:
            row = f"""%b = {load}
            %e = {line} iter_args(%o = %b) -> ({self.dtype}) {{ {step}
              affine.yield %r : {self.dtype}
            }}
            affine.store %e, {keep}"""
        return f"""
        %c = arith.constant {"0.25" if self.dtype[0] == "f" else "3"} : {self.dtype}
        affine.for %i = 0 to {ROWS} {{
          {row}
        }}"""

    def check(self, target: str, bits: int, seed: int, holes: bool) -> None:
        rng = np.random.default_rng(seed)
        kind: Any = TYPES[self.dtype]
        x = self._numbers(rng, (ROWS, COLUMNS)).astype(kind)
        if holes and self.dtype[0] == "f":
            x[rng.random(x.shape) < 0.01] = np.nan
        y = self._numbers(rng, (ROWS,)).astype(kind)
        z = np.zeros_like(x)
        wide = np.float64 if self.dtype[0] == "f" else kind
        constant = kind(0.25 if self.dtype[0] == "f" else 3)
        terms = (constant - x)[:, self.first : max(self.first, self.last)]
        want = y.astype(wide)
        with np.errstate(all="ignore"):
            for column in terms.T:
                want = COMBINE[self.combine](want, column.astype(wide))
        text = kernel(self.arguments, self.body, target)
        run(vectorized(text, bits), target, x, y, z, self.last)
        tolerance = 2e-5 if self.combine in {"addf", "mulf"} else 0
        np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance)
        if self.stores:
            kept = z[:, self.first : max(self.first, self.last)]
            np.testing.assert_array_equal(kept, terms)

    def _numbers(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        if self.dtype[0] == "i":
            return rng.integers(-(2**31), 2**31, shape)
        if self.combine == "mulf":
            return 0.25 + np.sign(rng.standard_normal(shape)) * rng.uniform(
                0.95, 1.05, shape
            )
        return rng.standard_normal(shape)


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    dtype = draw(st.sampled_from(list(TYPES)))
    suited = [c for c in COMBINE if (c[-1] == "f") == (dtype[0] == "f")]
    first = draw(st.integers(0, 5))
    return Reduction(
        dtype,
        draw(st.sampled_from(suited)),
        first,
        draw(st.integers(first, COLUMNS)),
        *(draw(st.booleans()) for _ in range(4)),
    )


def vectorized(text: str, bits: int = 256, *, relaxed: bool = False) -> gcg.Module:
    made = run_pipeline(gcg.parse(text), [Vectorize(bits, relaxed=relaxed)])
    assert str(gcg.parse(str(made))) == str(made)
    return made


WIDTHS = st.sampled_from([128, 256, 512])


@pytest.mark.sampled(9)
@settings(max_examples=10, deadline=None, phases=[Phase.generate])
@given(reductions(), WIDTHS, st.integers(0, 99), st.booleans())
def test_on_the_emulated_device(found: Reduction, bits: int, seed: int, holes: bool):
    found.check("sim", bits, seed, holes)


@pytest.mark.sampled(3)
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(reductions(), WIDTHS, st.integers(0, 99), st.booleans())
def test_on_the_processor(found: Reduction, bits: int, seed: int, holes: bool):
    found.check("cpu", bits, seed, holes)


PLAIN = Reduction("f32", "addf", 0, 100, dynamic=False, stores=False, swapped=False)


def text_of(reduction: Reduction) -> str:
    return kernel(reduction.arguments, reduction.body, "cpu")


@pytest.mark.parametrize("carried", [False, True])
def test_sums_keep_their_order_unless_the_program_is_relaxed(carried: bool):
    text = text_of(replace(PLAIN, carried=carried)).replace(FLAGS, "")
    assert "vector.reduction" not in str(vectorized(text))
    assert "vector.reduction" in str(vectorized(text, relaxed=True))


@pytest.mark.parametrize("carried", [False, True])
def test_a_row_keeps_several_partial_results(carried: bool):
    made = str(vectorized(text_of(replace(PLAIN, carried=carried)), 512))
    assert made.count("vector.reduction <add>") == 1
    assert made.count("affine.vector_load") == 4 + 1
    assert made.count("vector.maskedload") == 1


def test_a_negative_zero_stays():
    zeros = np.full((ROWS, COLUMNS), 0.25, np.float32)
    y = np.full(ROWS, -0.0, np.float32)
    body = PLAIN.body.replace("arith.subf %c, %a", "arith.subf %a, %c")
    text = kernel(PLAIN.arguments, body.replace("0.25", "0.0"), "cpu")
    run(vectorized(text), "cpu", zeros * np.float32(-0.0), y, zeros, 100)
    assert np.signbit(y).all()


LEAKS = {
    "the sum is used": "affine.store %r, %z[%i, %j] : memref<3x150xf32>",
    "the cell moves": "",
}


def test_a_loop_that_carries_something_else_too_stays():
    text = f"""func.func @f(%x: memref<40xf32>, %y: memref<2xf32>, %zero: f32) {{
      %s, %last = affine.for %j = 0 to 40 iter_args(%o = %zero, %p = %zero)
          -> (f32, f32) {{
        %a = affine.load %x[%j] : memref<40xf32>
        %r = arith.addf %o, %a {FLAGS} : f32
        affine.yield %r, %a : f32, f32
      }}
      affine.store %s, %y[0] : memref<2xf32>
      affine.store %last, %y[1] : memref<2xf32>
      return
    }}"""
    assert "vector" not in str(vectorized(text))


@pytest.mark.slow
def test_an_empty_row_touches_no_cell():
    """The cell may be past the end of its buffer; what is carried stays as it was."""
    text = kernel(
        "%x: memref<40xf32>, %y: memref<2xf32>, %n: index, %at: index",
        f"""%zero = arith.constant -0.0 : f32
        %s = affine.for %j = 0 to %n iter_args(%o = %zero) -> (f32) {{
          %a = affine.load %x[%j] : memref<40xf32>
          %b = affine.load %y[symbol(%at)] : memref<2xf32>
          %c = arith.maximumf %a, %b : f32
          affine.store %c, %y[symbol(%at)] : memref<2xf32>
          %r = arith.addf %o, %a {FLAGS} : f32
          affine.yield %r : f32
        }}
        affine.store %s, %y[1] : memref<2xf32>""",
        "cpu",
    )
    for size, place in ((0, 1 << 40), (-3, 1 << 40), (21, 0)):
        x, y = np.arange(40, dtype="f4"), np.full(2, 7, "f4")
        run(vectorized(text), "cpu", x, y, size, place)
        want = [20, 210] if size > 0 else [7, -0.0]
        assert y.tobytes() == np.array(want, "f4").tobytes()


@pytest.mark.parametrize("why", LEAKS)
def test_what_is_no_reduction_is_none(why: str):
    body = PLAIN.body
    if LEAKS[why]:
        body = body.replace("affine.store %r", f"{LEAKS[why]}\naffine.store %r")
    else:
        body = body.replace("%y[%i]", "%y[%j floordiv 50]")
    made = str(vectorized(kernel(PLAIN.arguments, body, "cpu")))
    assert "vector.reduction" not in made


@pytest.mark.parametrize("again", [True, False])
def test_what_the_next_pass_over_a_row_reads_stays_in_the_cache(again: bool):
    ty = "memref<4096x4096xf32>"
    source = "%y" if again else "%x"
    text = f"""func.func @f(%x: {ty}, %y: {ty}, %s: memref<4096xf32>) {{
      affine.for %i = 0 to 4096 {{
        affine.for %j = 0 to 4096 {{
          %a = affine.load %x[%i, %j] : {ty}
          %e = math.exp %a : f32
          affine.store %e, %y[%i, %j] : {ty}
        }}
        affine.for %j = 0 to 4096 {{
          %a = affine.load {source}[%i, %j] : {ty}
          %o = affine.load %s[%i] : memref<4096xf32>
          %r = arith.maximumf %o, %a : f32
          affine.store %r, %s[%i] : memref<4096xf32>
        }}
      }}
      return
    }}"""
    assert ("nontemporal" in str(vectorized(text))) is not again
