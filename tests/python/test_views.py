"""What is a view in NumPy is one in a translated function, and a copy is a copy."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.python.programs_of_numpy import function_of, same

UPDATES = [
    "y = x.T; y += 1",
    "y = x.T; x += 1",
    "y = x[None]; y *= x",
    "y = x[:, None, :]; y -= 1; x *= 2",
    "y = np.transpose(x); y -= x",
    "y = np.swapaxes(x, 0, 1); y *= 2",
    "y = np.moveaxis(x, 0, 1); y += x",
    "y = np.expand_dims(x, 1); y += 1",
    "y = np.squeeze(x); y += 1",
    "y = x.T[1:]; y += x[:, 1:].T",
    "y = x.T[0]; y[1] = 7.0",
    "y = x; x.T[0] += 1",
    "y = x; x.T[1, 2] = 9.0",
    "y = x; x.T[1:, 0] = x[1, 1:]",
    "y = x; x[:] = x.T",
    "y = x; x += x.T",
    "y = x; x[1:] = x[:-1]",
    "y = x; x[:, 1] += x[:, 0]",
    "y = x; x[1, :2] = x[1, 1:]",
    "y = x[::-1]; y += x",
    "y = x.reshape(-1); y += 1",
    "y = x.ravel(); x += 1",
    "y = np.ascontiguousarray(x); y += 1",
    "y = np.asarray(x); y += 1",
    "y = np.diag(x); x += 1",
    "y = np.diag(x, 1) + 0; x += 1",
    "y = np.real(x); y += 1",
    "y, z = x, x.T; z += y",
    "y = x.astype(np.float64); y += 1",
    "y = x.astype(np.float64); x += 1",
    "y = np.float64(x); x += 1",
    "y = np.array(x); y += 1",
    "y = x.copy(); x += 1",
    "y = x.flatten(); y += 1",
    "y = +x; x += 1",
    "y = abs(x); x += 1",
    "y = np.triu(x); x += 1",
    "y = np.tile(x, 1); x += 1",
    "y = np.where(x > 0, x, x); x += 1",
    "y = np.clip(x, 1.0, None); x += 1",
    "y = x\n    for r in x.T: r *= 2",
    "y = x\n    for r in x: r += r[0]",
    "y = x\n    for i in range(3): x[i, : i + 1] *= 2.0",
    "y = x\n    for i in range(1, 3): x[i, 1:] += x[i - 1, 1:] * x[i, 0]",
    "y = x\n    for i in range(2): x[i + 1, :] = x[i, ::-1] + x[i + 1, :]",
    "y = x\n    for i in range(3): x[:i, i] += x[i, :i]",
    "y = x\n    for i in range(3): y += x[i]",
    "y = x.T\n    for i in range(3): y *= x[i]",
    "y = x\n    while y[0, 0] < 5: y += 2.0; x[0, 1] = y[0, 0]",
    "y = np.reshape(x, (1, 9, 1)); y += 1",
    "y = x[0].reshape(3, 1); y[1, 0] = 8.0",
    "y = x[:, 0].reshape((1, x.shape[0])); y *= x[1]",
    "y = x[None].reshape(3, 3); y[2] = x[0]",
    "y = x\n    for i in range(1, 3): x[: i + 1, 0] = x[:i, 1].sum() + x[: i + 1, 0]",
]


@pytest.mark.cases("target", ["cpu", "sim"])
@pytest.mark.cases("text", UPDATES)
@pytest.mark.sampled(5)
def test_updates_reach_the_array_that_numpy_changes(text: str, target: str):
    function = function_of(f"def f(x):\n    {text}\n    return y.copy()\n")
    arguments: tuple[Any, ...] = (np.arange(9.0).reshape(3, 3),)
    ours = deepcopy(arguments)
    expected = function(*arguments)
    same(gcg.jit(target=target)(function)(*ours), expected, 1e-12)
    same(ours, arguments, 1e-12)


@pytest.mark.cases(
    "text",
    [
        "y = np.broadcast_to(x, (2, 3, 3)); y += 1",
        "y = np.diag(x); y += 1",
        "y = x.T; y += x > 1j",
        "y = x.astype(np.int64).T; y += 0.5",
    ],
)
def test_updates_that_numpy_refuses(text: str):
    function = function_of(f"def f(x):\n    {text}\n    return y\n")
    with pytest.raises(errors.PythonError):
        gcg.jit(target="cpu")(function)(np.arange(9.0).reshape(3, 3))


def test_updates_in_a_loop_bind_nothing():
    function = function_of("def f(x, n):\n    for i in range(n): x += x[0, 0]\n")
    text = gcg.jit(function).mlir(np.ones((3, 3)), 4)
    assert "scf.for" in text
    assert "iter_args" not in text


def test_assignments_to_a_part_of_the_same_array_need_no_memory():
    function = function_of(
        """
        def f(a, b):
            for i in range(1, a.shape[0]):
                a[i, : i + 1] += b[i] * a[i, : i + 1]
                a[i] = a[i - 1] * b[i] - a[i]
                a[:i, 0] = a[i, 0] + a[:i, 1]
        """
    )
    arguments = np.ones((5, 5)), np.ones(5)
    assert "memref.alloc" not in gcg.jit(function).mlir(*arguments)
    ours = deepcopy(arguments)
    function(*arguments)
    gcg.jit(target="cpu")(function)(*ours)
    same(ours, arguments, 1e-12)
