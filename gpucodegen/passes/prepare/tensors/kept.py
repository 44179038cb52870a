"""Which dimensions of a slice stay, where those of extent 1 are dropped."""

from __future__ import annotations

from gpucodegen.dialects.memref import Mixed
from gpucodegen.dialects.memref.checks import static
from gpucodegen.dialects.memref.layouts import Extent
from gpucodegen.ir.types import Shape


def kept_dimensions(sizes: tuple[Mixed, ...], shape: Shape) -> tuple[int, ...]:
    """The dimensions of a slice that a shape keeps; others have an extent of 1.

    >>> kept_dimensions((1, 8, 1), (8, 1))
    (1, 2)
    """
    if len(sizes) == len(shape):
        return tuple(range(len(sizes)))
    kept: list[int] = []
    dropped = len(sizes) - len(shape)
    wanted = list(shape)
    for d, size in enumerate(static(sizes)):
        fits = bool(wanted) and (wanted[0] == size or None in (wanted[0], size))
        if dropped and size == 1 and not (fits and _needs_all(sizes, d, wanted)):
            dropped -= 1
        else:
            kept.append(d)
            wanted = wanted[1:]
    return tuple(kept)


def _needs_all(sizes: tuple[Mixed, ...], d: int, wanted: list[Extent]) -> bool:
    """Whether a dimension of extent 1 cannot be dropped any more."""
    return sum(size == 1 for size in sizes[d + 1 :]) < wanted.count(1)
