"""Kernels that memory bounds: elementwise, transposes, reductions, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bench.gpu import texts
from bench.gpu.kernel import GpuKernel, Kind, Make, normal_arrays
from bench.row import Limit, Work
from bench.tables.rows import TEXTS, layernorm, softmax
from examples.problems import Arguments, Array, Size


def _stream(
    name: str, work: str, answer: Callable[..., Any], peer: str, **more: Any
) -> GpuKernel:
    """Element by element; the last argument is the result."""
    inputs, element = more.get("inputs", 1), more.get("element", "f32")
    dtype = {"f32": "f4", "f16": "f2"}[element]
    item = np.dtype(dtype).itemsize
    result = ("M", "N") if "order" not in more else ("N", "M")
    return GpuKernel(
        name,
        Kind.STREAM,
        partial(texts.elementwise, work=work, **more),
        normal_arrays(*[("M", "N")] * inputs, result, dtype=dtype),
        lambda *given: {inputs: answer(*given[:inputs])},
        lambda s: Work(0, item * (inputs + 1) * s["M"] * s["N"]),
        {"M": 4096, "N": 4096},
        {"M": 33, "N": 70},
        (peer, "copy"),
        limit=Limit.COPY,
        tolerance=1e-3 if element == "f16" else 1e-6,
    )


def streams() -> Iterator[GpuKernel]:
    """Element by element, and transposed."""

    def positive(x: Array) -> Array:
        return np.maximum(x, 0)

    for element in ("f32", "f16"):
        relu = f"%r = arith.maximumf %v0, %zero : {element}"
        yield _stream(f"relu {element}", relu, positive, "CuPy relu", element=element)
    same = "%r = arith.addf %v0, %zero : f32"
    yield _stream("copy", same, lambda x: x, "CuPy copy")
    turned = {"order": "%j, %i"}
    yield _stream("transpose", same, lambda x: x.T, "CuPy transpose", **turned)
    axpy = """%two = arith.constant 2.0 : f32
      %p = arith.mulf %v0, %two : f32
      %r = arith.addf %p, %v1 : f32"""
    yield _stream("axpy", axpy, lambda x, y: 2 * x + y, "CuPy axpy", inputs=2)


def _reduction(name: str, source: Make, axis: int | None, peer: str) -> GpuKernel:
    def arguments(rng: np.random.Generator, size: Size) -> Arguments:
        x = rng.standard_normal((size["M"], size["N"])).astype("f4")
        return x, np.zeros(np.atleast_1d(x.sum(axis)).shape, "f4")

    return GpuKernel(
        name,
        Kind.REDUCTION,
        source,
        arguments,
        lambda x, _: {1: np.atleast_1d(x.astype("f8").sum(axis))},
        lambda s: Work(s["M"] * s["N"], 4 * s["M"] * s["N"]),
        {"M": 8192, "N": 4096},
        {"M": 33, "N": 70},
        (peer, "copy"),
        limit=Limit.COPY,
        tolerance=1e-3,
    )


def _rows(
    name: str,
    large: Size,
    answer: Callable[..., Array],
    peers: Any,
    more_extents: Callable[[Size], dict[str, int]],
) -> GpuKernel:
    more = [("N",), ("N",)] if name == "layernorm" else []
    at = 1 + len(more)
    return GpuKernel(
        name,
        Kind.REDUCTION,
        TEXTS,
        normal_arrays(("M", "N"), *more, ("M", "N")),
        lambda *given: {at: answer(*(a.astype("f8") for a in given[:at]))},
        lambda s: Work(0, 8 * s["M"] * s["N"]),
        large,
        {"M": 17, "N": 70},
        (*peers, "copy"),
        name,
        Limit.COPY,
        1e-3,
        more_extents,
    )


def reductions() -> Iterator[GpuKernel]:
    """Sums, places of the largest, and chains along rows."""
    yield _reduction("row sum", texts.row_sum, 1, "CuPy row sum")
    yield _reduction("column sum", texts.column_sum, 0, "CuPy column sum")
    yield _reduction("full sum", texts.full_sum, None, "CuPy full sum")
    places = _reduction("argmax", texts.argmax, 1, "CuPy argmax")
    yield replace(
        places,
        arguments=lambda rng, s: (
            rng.standard_normal((s["M"], s["N"])).astype("f4"),
            np.zeros(s["M"], "i4"),
        ),
        answer=lambda x, _: {1: x.argmax(1).astype("i4")},
    )
    yield _rows(
        "softmax",
        {"M": 8192, "N": 4096},
        softmax,
        ("torch softmax", "Triton softmax"),
        lambda s: {f"{x}_size{d}": s[n] for x in "xy" for d, n in enumerate("MN")},
    )
    yield _rows(
        "layernorm",
        {"M": 8192, "N": 1024},
        layernorm,
        ("torch layernorm",),
        lambda s: {"m": s["M"], "n": s["N"]},
    )


def histograms() -> Iterator[GpuKernel]:
    """Counts of random keys: integers that lie beside each other, and few cells."""

    def arguments(rng: np.random.Generator, size: Size) -> Arguments:
        keys = rng.integers(0, size["M"], size["N"])
        return keys.astype("i4"), np.zeros(size["M"], "i4")

    yield GpuKernel(
        "histogram",
        Kind.REDUCTION,
        texts.histogram,
        arguments,
        lambda k, c: {1: c + np.bincount(k, minlength=len(c)).astype("i4")},
        lambda s: Work(s["N"], 4 * s["N"]),
        {"M": 256, "N": 1 << 24},
        {"M": 9, "N": 1003},
        ("CuPy bincount", "copy"),
        limit=Limit.COPY,
        tolerance=0,
    )
