"""Functions of vectors keep the errors that docs/vector-math.md states."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpucodegen.intrinsics.framework.features import has_fused_operations
from gpucodegen.intrinsics.vector_math import FORMULAS, lanes
from gpucodegen.runtime.cpu.kernels import compile_cpu
from gpucodegen.runtime.host.spec import KernelSpec, Param

PAGE = Path(__file__).resolve().parents[2] / "docs" / "vector-math.md"
OF_CUDA = "## Kernels for CUDA"


def bounds_of(text: str) -> dict[tuple[str, str], float]:
    """The tables of errors in a part of the page."""
    rows = re.findall(r"^\| `math\.(\w+)` \| (\S+) \| (\S+) \|$", text, re.MULTILINE)
    return {
        (name, kind): float(bound)
        for name, *bounds in rows
        for kind, bound in zip(("f32", "f64"), bounds, strict=True)
    }


BOUNDS = bounds_of(PAGE.read_text("utf-8").partition(OF_CUDA)[0])
WITHOUT_FUSION = 4.0
"""The same of the C library, which serves processors that do not fuse operations."""
TYPES = {"f32": np.float32, "f64": np.float64}
WIDE = np.longdouble
LANES = 64


def erf(x: Any) -> Any:
    """erf as a series of positive terms, below 7 in size (A&S 7.1.6)."""
    x = np.clip(x, WIDE(-7), WIDE(7))
    term = x.copy()
    total = x.copy()
    for n in range(1, 240):
        term = term * (2 * x * x / (2 * n + 1))
        total += term
    return total * np.exp(-x * x) * 2 / np.sqrt(WIDE(4) * np.arctan(WIDE(1)))


REFERENCES: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in "exp exp2 expm1 log log2 log10 log1p tanh sin cos".split()
} | {"erf": erf, "powf": np.power, "rsqrt": lambda x: 1 / np.sqrt(x)}
SPANS = {
    "exp": (-100, 90),
    "exp2": (-150, 130),
    "expm1": (-2, 2),
    "log": (0, 2),
    "log2": (0, 2),
    "log10": (0, 2),
    "log1p": (-1, 2),
    "tanh": (-3, 3),
    "sin": (-100, 100),
    "cos": (-100, 100),
    "erf": (-6, 6),
    "rsqrt": (0, 4),
}
"""Where errors are largest, or where results are neither 0 nor infinite."""


def bound(name: str, kind: str) -> float:
    """The largest error on the processor that kernels are compiled for."""
    return BOUNDS[name, kind] if has_fused_operations() else WITHOUT_FUSION


@cache
def compiled(name: str, kind: str, note: str = "") -> Callable[..., None]:
    arity = 2 if name == "powf" else 1
    inputs = "xy"[:arity]
    loads = ", ".join(f"load({x}, i)" for x in inputs)
    source = f"""
from gpucodegen.intrinsics import cpu as intrinsics
from gpucodegen.intrinsics.cpu import {name}
load = intrinsics.vload({LANES}, "{kind}")
store = intrinsics.vstore({LANES}, "{kind}")
# {note}


def k({", ".join(inputs)}, out, n):
    for i in range(0, n, {LANES}):
        store(out, i, {name}({loads}))
"""
    params = [Param(x, "pointer", kind) for x in (*inputs, "out")]
    params.append(Param("n", "scalar", "index"))
    spec = KernelSpec("k", source, tuple(params), fastmath=("contract",))
    return compile_cpu(spec).entry


def applied(name: str, *arguments: Any, note: str = "") -> Any:
    kind = {4: "f32", 8: "f64"}[arguments[0].itemsize]
    rest = -len(arguments[0]) % LANES
    padded = [np.append(a, np.ones(rest, a.dtype)) for a in arguments]
    out = np.empty_like(padded[0])
    addresses = [a.ctypes.data for a in (*padded, out)]
    compiled(name, kind, note)(*addresses, len(out))
    return out[: len(arguments[0])]


def errors(result: Any, exact: Any) -> Any:
    """Errors in units of the last place; 0 where both are the same special value."""
    form = np.finfo(result.dtype)
    nearest = exact.astype(result.dtype)
    size = np.maximum(np.abs(exact), WIDE(form.smallest_normal))
    unit = np.exp2(np.floor(np.log2(size)) - form.nmant)
    distance = np.abs(result.astype(WIDE) - exact) / unit
    same = (result == nearest) | (np.isnan(result) & np.isnan(nearest))
    special = ~np.isfinite(nearest) | ~np.isfinite(result)
    return np.where(special, np.where(same, 0, np.inf), distance)


def samples(name: str, kind: str, count: int = 1 << 16) -> Any:
    rng = np.random.default_rng(7)
    dtype, bits = TYPES[kind], 32 if kind == "f32" else 64
    low, high = SPANS[name]
    unsigned = np.dtype(f"u{bits // 8}")
    patterns = rng.integers(0, 2**bits - 1, count, dtype=unsigned)
    near = rng.uniform(low, high, count)
    scaled = rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-20, 20, count)
    return np.concatenate(
        [patterns.view(dtype), near.astype(dtype), scaled.astype(dtype)]
    )


def special_values(dtype: Any) -> Any:
    form = np.finfo(dtype)
    ends = [form.max, form.smallest_normal, form.smallest_subnormal, np.inf]
    plain = [0.0, 0.5, 1.0, 2.0, 3.0, *ends]
    return np.array([*plain, *(-x for x in plain), np.nan], dtype)


def test_the_page_has_every_function() -> None:
    assert {name for name, _ in BOUNDS} == set(FORMULAS) == set(REFERENCES)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", sorted(SPANS))
@np.errstate(all="ignore")
@pytest.mark.sampled(25)
def test_errors_are_those_of_the_page(name: str, kind: str) -> None:
    x = samples(name, kind)
    found = errors(applied(name, x), REFERENCES[name](x.astype(WIDE)))
    worst = int(np.argmax(found))
    assert found[worst] <= bound(name, kind), (x[worst], float(found[worst]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", TYPES)
@np.errstate(all="ignore")
def test_errors_of_powers(kind: str) -> None:
    rng = np.random.default_rng(7)
    dtype, most = TYPES[kind], 130 if kind == "f32" else 1080
    x = np.exp(rng.uniform(-30, 30, 1 << 16)).astype(dtype)
    x[::2] = rng.uniform(0.5, 2, len(x) // 2)
    y = (rng.uniform(-most, most, len(x)) / np.log2(x.astype(WIDE))).astype(dtype)
    found = errors(applied("powf", x, y), np.power(x.astype(WIDE), y.astype(WIDE)))
    worst = int(np.argmax(found))
    assert found[worst] <= bound("powf", kind), (x[worst], y[worst])


@pytest.mark.sampled(4)
@pytest.mark.cases("kind", TYPES)
@pytest.mark.cases("name", sorted(SPANS), parts=3)
@np.errstate(all="ignore")
def test_special_values(name: str, kind: str) -> None:
    x = special_values(TYPES[kind])
    result, exact = applied(name, x), REFERENCES[name](x.astype(WIDE))
    assert np.all(errors(result, exact) <= bound(name, kind))
    zeros = (result == 0) & (x == 0)
    np.testing.assert_array_equal(
        np.signbit(result[zeros]), np.signbit(exact.astype(x.dtype)[zeros])
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", TYPES)
@np.errstate(all="ignore")
def test_special_powers(kind: str) -> None:
    values = special_values(TYPES[kind])
    x, y = (a.ravel().copy() for a in np.meshgrid(values, values))
    found = errors(applied("powf", x, y), np.power(x.astype(WIDE), y.astype(WIDE)))
    assert np.all(found <= bound("powf", kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["exp", "exp2", "expm1"])
@np.errstate(all="ignore")
def test_processors_without_scaling_have_the_same_powers(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dtype = TYPES[kind]
    small = np.linspace(-1080, -80, 1 << 12)
    x = np.concatenate([samples(name, kind), small, special_values(dtype)])
    x = x.astype(dtype)
    here = applied(name, x)
    monkeypatch.setattr(lanes, "SCALEF", {})
    np.testing.assert_array_equal(applied(name, x, note="in steps"), here)
    np.testing.assert_array_equal(np.isnan(here), np.isnan(x))


@pytest.mark.slow
def test_no_lane_depends_on_its_neighbours() -> None:
    x = np.linspace(-1e3, 1e3, LANES)
    alone = applied("sin", x)
    x[5] = 1e300
    beside = applied("sin", x)
    assert beside[5] == math.sin(1e300)
    np.testing.assert_array_equal(np.delete(alone, 5), np.delete(beside, 5))
