"""Functions that Python builds step by step."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ir.locations import file_location
from tests.targets import ALL


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ALL)
def test_loops_conditions_and_arrays(target: str):
    f = gcg.build("f", a="f32[:, :]", b="f32[:, :]", limit="f32")
    product = f["a"] @ f["b"]
    rows, columns = product.shape
    with (
        f.loop(rows) as i,
        f.loop(0, columns, 2) as j,
        f.when(product[i, j] > f["limit"]),
    ):
        product[i, j] = -(f["limit"] + 2 * i)
    f.returns(product, f.sum(product), rows // 2)
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 3), np.float32), rng.random((3, 4), np.float32)
    made, total, half = f.compile(target=target).f(a, b, 0.75)
    expected = a.astype("f8") @ b
    for i in range(5):
        for j in range(0, 4, 2):
            if expected[i, j] > 0.75:
                expected[i, j] = -(0.75 + 2 * i)
    np.testing.assert_allclose(made, expected, rtol=1e-5)
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-5)
    assert half == 2


def test_operations_have_the_lines_that_built_them():
    f = gcg.build("f", x="f64[:]")
    f["x"][0] = f["x"][1] * 2
    (store,) = [op for op in f.module.operation.walk() if op.name == "memref.store"]
    place = file_location(store.location)
    assert place is not None
    assert place.filename == __file__


def test_a_loop_has_the_line_that_opened_it():
    f = gcg.build("f", x="f64[:]", step="index")
    with f.loop(0, 9, f["step"]) as i:
        f["x"][i] = 1.0
    with pytest.raises(errors.InvalidLoopStep) as caught:
        f.compile(target="cpu").f(np.zeros(9), -1)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_wrong_operands():
    f = gcg.build("f", x="f64[3]", y="f64[4]", n="index")
    with pytest.raises(errors.WrongOperand, match="add does not take an array"):
        f.call(np.add, f["x"], f["y"])
    with pytest.raises(errors.WrongOperand, match="an element does not take"):
        f["x"][0] = f["y"]
    with pytest.raises(errors.UntypedArgument, match="'z' of g"):
        gcg.build("g", z="float99")
