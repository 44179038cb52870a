# pyright: basic, reportMissingImports=false, reportIndexIssue=false
"""A product and a softmax in Triton, as its users write them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

TILE, DEPTH = 128, 16
HALVES_DEPTH = 64
"""Terms of a block where tensor cores multiply."""


@triton.jit
def _product(a, b, c, m, n, k, TILE: tl.constexpr, DEPTH: tl.constexpr, KIND: tl.constexpr):  # noqa: ANN001, ANN202, E501  # fmt: skip
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for first in range(0, k, DEPTH):
        terms = first + tl.arange(0, DEPTH)
        left = tl.load(
            a + rows[:, None] * k + terms[None, :],
            mask=(rows[:, None] < m) & (terms[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + terms[:, None] * n + columns[None, :],
            mask=(terms[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        total += tl.dot(left, right, input_precision=KIND)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    found = total.to(c.dtype.element_ty)
    tl.store(c + rows[:, None] * n + columns[None, :], found, mask=inside)


@triton.jit
def _softmax(x, y, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + places, mask=places < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    found = powers / tl.sum(powers, axis=0)
    tl.store(y + row * n + places, found, mask=places < n)


def matmul(a: Any, b: Any, c: Any, precision: str = "ieee") -> Callable[[], object]:
    """``A B`` with sums in f32 into new memory; f64 is refused."""
    if str(a.dtype) not in ("torch.float32", "torch.float16", "torch.bfloat16"):
        raise TypeError("This kernel multiplies floats of 32 and 16 bits only")
    m, k = a.shape
    n = b.shape[1]
    out = c.new_empty(c.shape)
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE))
    depth = DEPTH if a.itemsize == 4 else HALVES_DEPTH
    shape = m, n, k, TILE, depth, precision
    return lambda: _product[grid](a, b, out, *shape, num_warps=8)


def bf16_matmul(a: Any, b: Any, c: Any) -> Callable[[], object]:
    """The same of factors that are codes of bf16."""
    kind: Any = import_module("torch").bfloat16
    return matmul(a.view(kind), b.view(kind), c)


def softmax(x: Any, y: Any) -> Callable[[], object]:
    """The softmax of each row."""
    m, n = x.shape
    block = triton.next_power_of_2(n)
    return lambda: _softmax[(m,)](x, y, n, block, num_warps=8)
