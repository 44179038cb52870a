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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.cases(
    "body",
    [
        scan(load="%j"),
        scan(load="%j - 1", store="0"),
        scan(load="0", store="0"),
        scan(load="%j - 1", store="(%j floordiv 2) * 2"),
        scan(more=SECOND),
        scan(source="%x"),
    ],
    ids="same fixed still halved twice other".split(),
)
def test_other_places_are_loaded(body: str):
    assert not carries(rows(body))


@pytest.mark.parametrize("head", ["5 to 5", "5 to 6"])
def test_loops_that_do_not_run_twice_stay(head: str):
    assert not carries(rows(scan(), head=head))


@pytest.mark.parametrize("end", [0, 1, 2, 37])
@pytest.mark.sampled(3)
def test_first_values_are_loaded_if_the_loop_runs(end: int):
    """The condition is around the loop over rows, which then has rows abreast."""
    head = "1 to min affine_map<(d0) -> (d0, 37)>(%n)"
    text = rows(scan(), head=head).replace("@f(", "@f(%n: index, ")
    assert carries(text)
    body = apply("carry-stores", text).functions["f"].body.operations
    assert [op.name for op in body] == ["affine.if", "func.return"]
    x, y = arrays()
    want = y.copy()
    for j in range(1, end):
        want[:, j] = want[:, j - 1] + x[:, j]
    function(text)(end, x, y)
    np.testing.assert_array_equal(y, want)


@pytest.mark.cases("n", range(4))
def test_triangular_sums_that_pass_on_a_maximum(n: int):
    text = f"""func.func @f(%n: index, %x: {MATRIX}, %y: {MATRIX}) -> f32 {{
      %low = arith.constant -1.0 : f32
      %r = affine.for %i = 0 to min affine_map<(d0) -> (d0, 19)>(%n)
           iter_args(%m = %low) -> (f32) {{
        %s = affine.for %j = 1 to affine_map<(d0) -> (d0)>(%i) iter_args(%t = %m)
             -> (f32) {{
          %v = affine.load %x[%i, %j] : {MATRIX}
          {scan()}
          %u = arith.maximumf %t, %r : f32
          affine.yield %u : f32
        }}
        affine.yield %s : f32
      }}
      return %r : f32
    }}"""
    assert "-> (f32, f32)" in str(apply("carry-stores", text))
    x, y = arrays()
    want, most = y.copy(), np.float32(-1)
    for i in range(6 * n):
        for j in range(1, i):
            want[i, j] = want[i, j - 1] + x[i, j]
            most = max(most, want[i, j])
    assert function(text)(6 * n, x, y) == most
    np.testing.assert_array_equal(y, want)


@pytest.mark.slow
def test_other_places_of_the_buffer_are_loaded_as_before():
    """A sum in place: what is added has not been stored yet."""
    text = rows(scan().replace("%a, %v", "%a, %b"), head="2 to 36").replace(
        "%a =", f"%b = affine.load %y[%i, %j] : {MATRIX}\n%a =", 1
    )
    assert carries(text)
    x, y = arrays()
    want = y.copy()
    for j in range(2, 36):
        want[:, j] += want[:, j - 1]
    function(text)(x, y)
    np.testing.assert_array_equal(y, want)


@pytest.mark.slow
def test_values_of_two_iterations_are_handed_on():
    text = rows(
        f"""%b = affine.load %y[%i, %j - 2] : {MATRIX}
            %c = arith.addf %v, %b : f32
            {scan().replace("%a, %v", "%a, %c")}""",
        head="2 to 37",
    )
    assert "-> (f32, f32)" in str(apply("carry-stores", text))
    x, y = arrays()
    want = y.copy()
    for j in range(2, 37):
        want[:, j] = want[:, j - 1] + (x[:, j] + want[:, j - 2])
    function(text)(x, y)
    np.testing.assert_array_equal(y, want)


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


CHOSEN = {
    "selected": ("arith.select %c, %y, %z : {0}", "%y"),
    "yielded by a branch": (
        "scf.if %c -> ({0}) {{ scf.yield %y : {0} }} else {{ scf.yield %z : {0} }}",
        "%y",
    ),
    "global": ("memref.get_global @g : {0}", "%again"),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_buffers_that_may_be_one_are_not_carried(case: str):
    made, other = CHOSEN[case]
    body = f"""%a = affine.load %m[%i, %j - 1] : {MATRIX}
               %r = arith.addf %a, %v : f32
               affine.store %r, %m[%i, %j] : {MATRIX}
               affine.store %v, {other}[%i, %j] : {MATRIX}
               affine.store %a, %w[%i, %j] : {MATRIX}"""
    text = rows(body, f", %z: {MATRIX}, %w: {MATRIX}, %c: i1")
    head, _, nest = text.partition("\n")
    text = f"""memref.global @g : {MATRIX} = uninitialized
    {head}
      %m = {made.format(MATRIX)}
      %again = memref.get_global @g : {MATRIX}
      {nest}"""
    assert not carries(text)


def test_a_selected_buffer_is_seen_through_its_other_name():
    text = rows(
        f"""%a = affine.load %m[%i, %j - 1] : {MATRIX}
            %r = arith.addf %a, %v : f32
            affine.store %r, %m[%i, %j] : {MATRIX}
            affine.store %v, %y[%i, %j] : {MATRIX}
            affine.store %a, %w[%i, %j] : {MATRIX}""",
        f", %z: {MATRIX}, %w: {MATRIX}, %c: i1",
    )
    head, _, nest = text.partition("\n")
    text = f"{head}\n %m = arith.select %c, %y, %z : {MATRIX}\n{nest}"
    x, y = arrays()
    z, w = np.zeros_like(y), np.zeros_like(y)
    first = y[:, :1].copy()
    function(text)(x, y, z, w, True)
    np.testing.assert_array_equal(w[:, 1:], np.hstack([first, x[:, 1:-1]]))
    np.testing.assert_array_equal(y[:, 1:], x[:, 1:])
