"""Whether products of bytes pay as products of words of four of them (``dp4a``).

Both factors are packed by kernels of their own, which read each byte and write it to
its word; then a word of each is one instruction of the integer unit, for four terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gpucodegen.tiling.machine.gpu.devices import SECTOR, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import Work, estimate
from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.machine.gpu.products.plan import (
    DEFAULT,
    busy,
    clocks_of,
    plan_contraction,
)
from gpucodegen.tiling.machine.gpu.products.product_work import Product
from gpucodegen.tiling.machine.products.kinds.packed_dots import (
    BYTE,
    WORD,
    PackedDots,
    Part,
)

PACKED = 4
"""Words that a thread packs at once, where their bytes lie side by side."""
THREADS = 256
"""Threads of a block that packs."""
PACKING = 4 * WORD // BYTE
"""Instructions for a word of bytes that do not: read, mask, shift, join each."""


def four_bytes(left: Part, right: Part, rows: int) -> PackedDots | None:
    """Words of four bytes, each with or without a sign; None for other integers.

    >>> four_bytes(Part(8), Part(8, signed=False), 64).right
    Part(bits=8, signed=False)
    >>> four_bytes(Part(16), Part(8), 64) is None
    True
    """
    del rows
    is_of_bytes = left.bits == right.bits == BYTE
    return PackedDots(left, right) if is_of_bytes else None


def words_pay(
    plain: Sequence[Product],
    words: Sequence[Product],
    device: GpuDevice | None = None,
) -> bool:
    """Whether products of words, packing included, take fewer clocks by estimate.

    ``device``: as for `plan_contraction`.

    >>> def pays(size, terms):
    ...     plain, words = (
    ...         Product(size, size, n, integer=True) for n in (terms, terms // 4)
    ...     )
    ...     return words_pay([plain], [words])
    >>> pays(32, 32), pays(2048, 2048)
    (False, True)
    """
    known = device or DEFAULT

    def clocks(product: Product) -> float:
        return clocks_of(plan_contraction(product, device=device), product, known)

    packing = sum(_packing(each, known) for each in words)
    return sum(map(clocks, words)) + packing < sum(map(clocks, plain))


def _packing(product: Product, device: GpuDevice) -> float:
    """Clocks of the launches that pack both factors."""
    sizes = (product.rows, product.columns)
    works = (_packed(product.batch * size * product.terms) for size in sizes)
    held = device.multiprocessor.blocks
    return sum(busy(estimate(device, held, work)) for work in works)


def _packed(words: int) -> Work:
    warps, memory = ceil(words / WARP), 2 * words * WORD // BYTE
    sectors = memory / SECTOR
    return Work(
        ceil(words / THREADS),
        THREADS,
        warps * PACKING,
        sectors=sectors,
        block_sectors=sectors,
        memory=memory,
        waits=1,
    )
