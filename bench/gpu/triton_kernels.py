# pyright: basic, reportMissingImports=false, reportIndexIssue=false
"""A product and a softmax in Triton, as its users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

TILE, DEPTH = 128, 16


@triton.jit
def _product(a, b, c, m, n, k, TILE: tl.constexpr, DEPTH: tl.constexpr):  # noqa: ANN001, ANN202
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
        total += tl.dot(left, right, input_precision="ieee")
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=inside)


@triton.jit
def _softmax(x, y, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + places, mask=places < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    found = powers / tl.sum(powers, axis=0)
    tl.store(y + row * n + places, found, mask=places < n)


def matmul(a: Any, b: Any, c: Any) -> Callable[[], object]:
    """``A B`` in f32 into new memory; f64 is refused."""
    if str(a.dtype) != "torch.float32":
        raise TypeError("This kernel multiplies f32 only")
    m, k = a.shape
    n = b.shape[1]
    out = c.new_empty(c.shape)
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE))
    return lambda: _product[grid](a, b, out, m, n, k, TILE, DEPTH, num_warps=8)


def softmax(x: Any, y: Any) -> Callable[[], object]:
    """The softmax of each row."""
    m, n = x.shape
    block = triton.next_power_of_2(n)
    return lambda: _softmax[(m,)](x, y, n, block, num_warps=8)
