"""What is a view in NumPy is one in a translated function, and a copy is a copy."""

from __future__ import annotations

import warnings
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
    "y = x; x[0] = x[1:2] * 2",
    "y = x; x.T[0] = (x[:, 1] + 1)[None, None]",
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
    "y = x.T.squeeze(); y += x",
    "y, z = x.T[:2]; y[:] = z; z += 1",
    "y = np.flip(x.T); y[0] = 7",
    "y = np.flip(x[:, None], 0); y *= 2",
    "y = np.expand_dims(x.T[1:], 1); y += 1",
    "y = np.squeeze(x[None]); x += 1",
    "y = np.rot90(x); y[0] = 7",
    "y = np.rot90(x, 3); y[:, 1:] += 1",
    "y = np.rot90(x.T, 2); y[1] -= 5",
    "y = np.rollaxis(x, 1); y[0] *= 3",
    "y = np.rollaxis(x[None], 0, 3); y[0] *= 3",
    "y = x[:, 1:2].ravel(); y += 1",
    "y = x[:, 1].ravel(); y += 1",
    "y = x[1:2].ravel(); y += 1",
    "y = x\n    for i, r in enumerate(x.T): r += i",
    "y = x\n    for a, r in zip(x[1:], x.T[::-1]): r -= a",
    "y = x\n    for r in reversed(x.T[1:]): r[:] = 2 * r[::-1]",
    "y = x\n    for i, r in enumerate(reversed(x[:, None])): r[0] -= i",
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
@pytest.mark.cases("text", UPDATES, parts=4)
@pytest.mark.drawn(2)
@pytest.mark.sampled(40)
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


BOUND_ANEW = [
    "x = x + 1",
    "x = x * y + x",
    "x = x @ y",
    "x = x.T + x",
    "x = x[::-1] - y",
    "x = np.where(x > 4, x, y)",
    "old = x; x = x + 1; y = old + y",
    "x = x + 1; old = x; y = old + y",
    "x, y = x + 1, x * 2",
    "x, y = y, x + y",
    "y = x; x = x + 1",
    "x = y; y = y + 1",
    "x = x + 1; x[0] = 7.0",
    "x[0] = 7.0; x = x + 1",
    "x = x + 1; x += y",
    "old = x.T; x = x + 1; y = y + old",
    "y = x[0] + y; x = y * 2",
    "x = x.copy()",
    "x = x.astype(np.float64)",
    "x = np.diag(x[0]) + x",
    "z = x * 2; x = z; z[0] = 1.0",
    "z = x * 2; z[0] = 1.0; x = z",
    "x = x + 1\n        if x[0, 0] > 2: break",
    "x = x + 1\n        if x[0, 0] > 2: y = y * x",
    "x = y * 2\n        for j in range(2): x = x + j; y = y - x",
    "z = y + i\n        for j in range(i): z = z * 2; x = x + z",
    "for j in range(2): x = x + y\n        y = x",
]
BEHIND = ["", "x[0, 0] = 9.0", "y[1] = 9.0", "x += y", "z = x; z[2] = 3.0; x = x + 1"]


@pytest.mark.cases(
    ("behind", "count", "target"),
    [
        *[(behind, count, "interp") for behind in BEHIND for count in (0, 1, 3)],
        *[("", 3, "cpu"), (BEHIND[-1], 3, "sim")],
    ],
)
@pytest.mark.cases("text", BOUND_ANEW, parts=4)
@pytest.mark.drawn(1)
@pytest.mark.sampled(38)
def test_arrays_that_a_loop_binds_anew(text: str, behind: str, count: int, target: str):
    """Also without an iteration, and where the arrays are changed behind the loop."""
    function = function_of(
        f"def f(x, y, n):\n    for i in range(n):\n        {text}\n"
        f"    {behind or 'pass'}\n    return x.copy(), y.copy()\n"
    )
    arguments = np.arange(9.0).reshape(3, 3), np.eye(3) + 0.5, count
    ours = deepcopy(arguments)
    expected = function(*arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        found = gcg.jit(target=target)(function)(*ours)
    same(found, expected, 1e-12)
    same(ours[:2], arguments[:2], 1e-12)


@pytest.mark.cases("text", ["x = x + y", "x = x * y\n        if x[0, 0] > 9: break"])
def test_such_loops_carry_no_array(text: str):
    function = function_of(
        f"def f(x, y, n):\n    for i in range(n):\n        {text}\n    return x\n"
    )
    made = gcg.jit(target="cpu")(function)
    arguments = np.ones((3, 3)), np.ones((3, 3)), 4
    loops = [line for line in made.mlir(*arguments).splitlines() if "scf." in line]
    assert not any("memref" in line for line in loops)
    assert made.source(*arguments).count("rt.launch") == 1


CALLED = """
@gcg.jit
def add(a, by):
    a += by

@gcg.jit
def total(a):
    return a.sum()

def f(x):
    add(x.T[:2], 1.0)
    add(x[None, 1], 2.0)
    return total(x.T), x.copy()
"""


@pytest.mark.cases("target", ["cpu", "sim"])
def test_parts_of_parts_in_a_loop(target: str):
    text = """
    def f(x):
        for i in range(len(x)):
            r = x[i].T
            r[0] += i
    """
    function = function_of(text)
    expected, ours = (np.arange(24.0).reshape(2, 3, 4) for _ in range(2))
    function(expected)
    gcg.jit(target=target)(function)(ours)
    same(ours, expected, 0)


@pytest.mark.sampled(2)
@pytest.mark.cases("target", ["cpu", "sim"])
def test_functions_that_are_called_write_to_transposes(target: str):
    plain = CALLED.replace("@gcg.jit\n", "")
    arguments = (np.arange(9.0).reshape(3, 3),)
    ours = deepcopy(arguments)
    expected = function_of(plain)(*arguments)
    same(gcg.jit(target=target)(function_of(CALLED))(*ours), expected, 1e-12)
    same(ours, arguments, 1e-12)


def test_an_array_bound_anew_in_a_branch_is_in_bounds():
    """A branch that gives an array as its value touches none of its elements."""

    @gcg.jit(target="sim")
    def f(x: Any, n: int) -> Any:
        y = x
        if n > 0:
            y = y[::-1]
        return y * 2

    x = np.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (0, 1):
            expected = x[::-1] * 2 if n else x * 2
            np.testing.assert_array_equal(f(x, n), expected)


@pytest.mark.parametrize(
    "bound",
    ["y = y[::-1]", pytest.param("if i % 2: y = y[::-1]", marks=pytest.mark.slow)],
)
def test_views_of_one_size_that_a_loop_binds_are_in_bounds(bound: str):
    """Their extents are numbers, for branches and loops keep what all ways agree on."""
    function = function_of(
        f"def f(x, n):\n    y = x\n    for i in range(n):\n        {bound}\n"
        "        for j in range(len(y)):\n            y[j] = y[j] * 2 + j\n"
        "    return y * 1\n"
    )
    arguments = np.arange(6.0), 3
    ours = deepcopy(arguments)
    expected = function(*arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gcg.jit(target="sim")(function)(*ours)
    same(found, expected, 1e-12)
    same(ours, arguments, 1e-12)


@pytest.mark.parametrize(
    "options",
    [{"target": "interp"}, {"target": "cpu"}, {"target": "cpu", "sanitize": True}],
    ids=str,
)
def test_arrays_that_share_memory_are_refused_if_one_is_written(
    options: dict[str, Any],
) -> None:
    """The translation is for separate arrays: it takes no copy of `b`."""

    def shifted(a: Any, b: Any) -> None:
        a[1:] = b[:-1] + a[1:]

    def ends(a: Any, b: Any) -> Any:
        c = a.copy()
        c += b
        return np.sort(c)

    x = np.arange(6.0)
    with pytest.raises(gcg.errors.OverlappingArguments, match="a and b"):
        gcg.jit(**options)(shifted)(x, x)
    gcg.jit(**options)(shifted)(x[:3], x[3:])
    np.testing.assert_array_equal(x, [0, 4, 6, 3, 4, 5])
    found = gcg.jit(**options)(ends)(x, x)
    np.testing.assert_array_equal(found, np.sort(2 * x))
