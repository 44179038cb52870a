"""Functions of CUDA kernels keep the errors that docs/vector-math.md states.

They run on the emulated device, as the PTX that a GPU gets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from gpucodegen.intrinsics import arithmetic
from gpucodegen.intrinsics.cuda.backend import ALL
from gpucodegen.runtime.cuda.kernel_launch import CudaKernel
from gpucodegen.runtime.devices import emulated_device
from gpucodegen.runtime.host.buffers import Buffer
from gpucodegen.runtime.host.spec import KernelSpec, Param
from tests.runtime import test_vector_math as vectors
from tests.runtime.test_vector_math import OF_CUDA, PAGE, TYPES, WIDE, bounds_of

BOUNDS = bounds_of(PAGE.read_text("utf-8"))
THREADS = 128
COUNT = 1 << 11


def exactly(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function of mpmath's, rounded to long doubles."""

    def one(x: Any) -> Any:
        near = function(mpmath.mpf(float(x)))
        high = float(near)
        return WIDE(high) + WIDE(float(near - mpmath.mpf(high)))

    def many(values: Any) -> Any:
        return np.array([one(x) if np.isfinite(x) else np.nan for x in values], WIDE)

    return many


def erfc(x: Any) -> Any:
    with mpmath.workprec(160):
        inside = exactly(mpmath.erfc)(np.clip(x, -40, 40))
    ends = np.where(x > 30, WIDE(0), WIDE(2))
    return np.where(np.abs(x) > 30, ends, inside)


REFERENCES: dict[str, Callable[..., Any]] = vectors.REFERENCES | {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cosh": np.cosh,
    "erfc": erfc,
    "sinh": np.sinh,
    "tan": np.tan,
}
SPANS = vectors.SPANS | {
    "acos": (-1, 1),
    "acosh": (1, 4),
    "asin": (-1, 1),
    "asinh": (-5, 5),
    "atan": (-5, 5),
    "atanh": (-1, 1),
    "cbrt": (-4, 4),
    "cosh": (-5, 5),
    "erfc": (-5, 26),
    "sinh": (-5, 5),
    "tan": (-100, 100),
}


@cache
def compiled(name: str, kind: str) -> CudaKernel:
    inputs = "xy" if name in ("powf", "atan2", "remf") else "x"
    values = ", ".join(f"{x}[i]" for x in inputs)
    source = f"""
from gpucodegen.intrinsics.cuda import cuda, int32, {name}


def k({", ".join(inputs)}, out, n):
    i = int32(cuda.blockIdx.x * {THREADS} + cuda.threadIdx.x)
    if i < n:
        out[i] = {name}({values})
"""
    params = [Param(x, "pointer", kind) for x in (*inputs, "out")]
    params.append(Param("n", "scalar", "index"))
    block = (THREADS, 1, 1)
    spec = KernelSpec("k", source, tuple(params), block=block)
    return CudaKernel.on(emulated_device.current(), spec)


def applied(name: str, *arguments: Any) -> Any:
    device = emulated_device.current()
    kind = {4: "f32", 8: "f64"}[arguments[0].itemsize]
    count = len(arguments[0])
    arrays = [device.empty(a.shape, a.dtype) for a in (*arguments, arguments[0])]
    for array, contents in zip(arrays, arguments, strict=False):
        device.upload(array, contents)
    buffers = [Buffer.of(array, kind) for array in arrays]
    grid, block = (-(-count // THREADS), 1, 1), (THREADS, 1, 1)
    compiled(name, kind).launch(grid, block, (*buffers, count))
    device.synchronize()
    return device.fetch(arrays[-1])()


def check(name: str, kind: str, *arguments: Any) -> None:
    result = applied(name, *arguments)
    exact = REFERENCES[name](*(x.astype(WIDE) for x in arguments))
    found = vectors.errors(result, exact)
    worst = int(np.argmax(found))
    place = [x[worst] for x in arguments]
    assert found[worst] <= BOUNDS[name, kind], (place, float(found[worst]))
    zeros = (result == 0) & (exact == 0)
    np.testing.assert_array_equal(
        np.signbit(result[zeros]), np.signbit(exact.astype(result.dtype)[zeros])
    )


def pairs(kind: str) -> tuple[Any, Any]:
    """Special values with each other, all bit patterns, and numbers near 1."""
    dtype, rng = TYPES[kind], np.random.default_rng(3)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    special = vectors.special_values(dtype)
    made: list[Any] = []
    for side in np.meshgrid(special, special):
        bits = rng.integers(0, np.iinfo(unsigned).max, COUNT, dtype=unsigned)
        near = rng.uniform(-4, 4, COUNT).astype(dtype)
        made.append(np.concatenate([side.ravel(), bits.view(dtype), near]))
    return made[0], made[1]


def test_the_page_has_every_function() -> None:
    names = {name for name, _ in BOUNDS}
    assert names == {*arithmetic.UNARY, *arithmetic.BINARY} <= set(ALL)
    listed = bounds_of(PAGE.read_text("utf-8").partition(OF_CUDA)[2])
    assert {name for name, _ in listed} == names - set(vectors.REFERENCES)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", sorted(SPANS))
@np.errstate(all="ignore")
@pytest.mark.sampled(12)
def test_errors_are_those_of_the_page(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "SPANS", SPANS)
    near, special = vectors.samples(name, kind, COUNT), vectors.special_values
    check(name, kind, np.concatenate([near, special(TYPES[kind])]))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("name", "exact"), [("powf", np.power), ("atan2", np.arctan2)])
@np.errstate(all="ignore")
def test_functions_of_two(
    name: str, exact: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REFERENCES, name, exact)
    check(name, kind, *pairs(kind))


@pytest.mark.parametrize("kind", TYPES)
@np.errstate(all="ignore")
def test_remainders_are_exact(kind: str) -> None:
    x, y = pairs(kind)
    np.testing.assert_array_equal(applied("remf", x, y), np.fmod(x, y))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_angle_closest_to_whole_right_angles(name: str) -> None:
    """Of all float64, this one leaves the smallest rest."""
    x = np.array([6381956970095103 * 2.0**797])
    with mpmath.workprec(1200):
        exact = getattr(mpmath, name)(mpmath.mpf(x[0]))
        error = abs((mpmath.mpf(applied(name, x)[0]) - exact) / exact)
    assert error < 2.0**-52
