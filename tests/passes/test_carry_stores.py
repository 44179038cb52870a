"""What an iteration stores and the next one loads is carried, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import apply, function, names

RNG = np.random.default_rng(3)
MATRIX = "memref<19x37xf32>"


def rows(body: str, arguments: str = "", head: str = "1 to 37") -> str:
    return f"""func.func @f(%x: {MATRIX}, %y: {MATRIX}{arguments}) {{
      affine.for %i = 0 to 19 {{
        affine.for %j = {head} {{
          %v = affine.load %x[%i, %j] : {MATRIX}
          {body}
        }}
      }}
      return
    }}"""


def scan(
    load: str = "%j - 1", store: str = "%j", more: str = "", source: str = "%y"
) -> str:
    return f"""%a = affine.load {source}[%i, {load}] : {MATRIX}
               %r = arith.addf %a, %v : f32
               affine.store %r, %y[%i, {store}] : {MATRIX}
               {more}"""


def carries(text: str) -> bool:
    loops = [op for op in apply("carry-stores", text).walk() if op.name == "affine.for"]
    return any(op.results for op in loops)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    x, y = RNG.random((2, 19, 37), np.float32)
    return x, y


@pytest.mark.parametrize(("head", "step"), [("1 to 37", 1), ("3 to 36 step 2", 2)])
def test_sums_along_rows_stay_the_same_bit_for_bit(head: str, step: int):
    text = rows(scan(load=f"%j - {step}"), head=head)
    assert carries(text)
    x, y = arrays()
    want = y.copy()
    first, end = (1, 37) if step == 1 else (3, 36)
    for j in range(first, end, step):
        want[:, j] = want[:, j - step] + x[:, j]
    function(text)(x, y)
    np.testing.assert_array_equal(y, want)


def test_backward_places_and_two_loads_are_carried():
    more = f"%b = affine.load %y[%i, 37 - %j] : {MATRIX}"
    body = scan("37 - %j", "36 - %j").replace("%a, %v", "%a, %b")
    text = rows(f"{more}\n{body}")
    assert carries(text)
    x, y = arrays()
    want = y.copy()
    for j in range(1, 37):
        want[:, 36 - j] = 2 * want[:, 37 - j]
    function(text)(x, y)
    np.testing.assert_array_equal(y, want)


def test_two_recurrences_of_one_loop():
    other = f"""%b = affine.load %z[%i, %j - 1] : {MATRIX}
                %m = arith.mulf %b, %r : f32
                affine.store %m, %z[%i, %j] : {MATRIX}"""
    text = rows(scan(more=other), f", %z: {MATRIX}")
    (loop,) = [op for op in apply("carry-stores", text).walk() if op.results[1:]]
    assert loop.name == "affine.for"
    (x, y), z = arrays(), RNG.random((19, 37), np.float32)
    want_y, want_z = y.copy(), z.copy()
    for j in range(1, 37):
        want_y[:, j] = want_y[:, j - 1] + x[:, j]
        want_z[:, j] = want_z[:, j - 1] * want_y[:, j]
    function(text)(x, y, z)
    np.testing.assert_array_equal(y, want_y)
    np.testing.assert_array_equal(z, want_z)


SECOND = f"affine.store %v, %y[%i, 0] : {MATRIX}"
NEIGHBOUR = f"%b = affine.load %y[%i, %j + 0] : {MATRIX}"


@pytest.mark.parametrize(
    "body",
    [
        scan(load="%j"),
        scan(load="%j - 1", store="0"),
        scan(load="0", store="0"),
        scan(load="%j - 1", store="(%j floordiv 2) * 2"),
        scan(more=SECOND),
        scan(more=NEIGHBOUR),
        scan(source="%x"),
    ],
    ids="same fixed still halved twice around other".split(),
)
def test_other_places_are_loaded(body: str):
    assert not carries(rows(body))


@pytest.mark.parametrize("head", ["5 to 5", "5 to 6", "%n to 37"])
def test_loops_that_may_not_run_twice_stay(head: str):
    text = rows(scan(), head=head)
    if "%n" in head:
        text = text.replace("@f(", "@f(%n: index, ")
    assert not carries(text)


def test_overlapping_views_are_loaded_again():
    view = f"memref.cast %y : {MATRIX} to {MATRIX}"
    other = f"affine.store %v, %z[%i, 3] : {MATRIX}"
    text = rows(scan(more=other)).replace(
        "affine.for %i", f"%z = {view}\naffine.for %i", 1
    )
    assert not carries(text)


def test_the_name_of_a_loop_stays():
    named = rows(scan()).replace("}\n      }", '} {gpucodegen.name = "sum"}\n      }')
    module = apply("carry-stores", named)
    assert "affine.for" in names(module)
    assert 'gpucodegen.name = "sum"' in str(module)
