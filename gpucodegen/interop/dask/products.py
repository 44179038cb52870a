"""Matrix products and convolutions of dask arrays by the ready-made kernels."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np


def matmul(a: Any, b: Any, *, target: str = "auto", every: int = 4) -> Any:
    """``a @ b`` of matrices in blocks.

    Every block of ``a`` is multiplied by one of ``b``; the products of a row of blocks
    with a column are added as a tree, ``every`` at a time. ``target``: of the kernels.

    >>> try:
    ...     import dask.array as da
    ... except ImportError:
    ...     pass
    ... else:
    ...     x = da.ones((6, 4), chunks=(3, 2), dtype="f4")
    ...     assert (matmul(x, x.T, target="cpu").compute() == 4).all()
    """
    da: Any = import_module("dask.array")

    dtype = np.result_type(a.dtype, b.dtype)
    if a.chunks[1] != b.chunks[0]:
        b = b.rechunk({0: a.chunks[1]})
    parts = da.blockwise(
        partial(_product, target=target),
        "ikj",
        a,
        "ik",
        b,
        "kj",
        adjust_chunks={"k": 1},
        dtype=dtype,
        meta=np.empty((0, 0, 0), dtype),
    )
    if parts.numblocks[1] == 1:
        return parts[:, 0, :]
    return da.reduction(
        parts,
        chunk=_itself,
        combine=np.sum,
        aggregate=np.sum,
        axis=1,
        split_every=every,
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def _product(a: Any, b: Any, *, target: str) -> Any:
    """The product of two blocks, with an axis for the sum over blocks."""
    from gpucodegen.kernels import matmul as product

    return product(a, b, target=target)[:, None, :]


def _itself(part: Any, axis: Any, keepdims: bool) -> Any:
    del axis, keepdims
    return part


def conv2d(x: Any, w: Any, *, layout: str = "NHWC", target: str = "auto") -> Any:
    """The convolution of images in blocks; every task holds all filters.

    As `gpucodegen.kernels.conv2d` without padding: images may be split along the batch,
    rows and columns. A block is extended by the following rows and columns that its
    windows cover.

    >>> try:
    ...     import dask.array as da
    ... except ImportError:
    ...     pass
    ... else:
    ...     x = da.ones((1, 8, 6, 2), chunks=(1, 4, 6, 2), dtype="f4")
    ...     y = conv2d(x, np.ones((3, 3, 2, 1), "f4"), target="cpu")
    ...     assert y.shape == (1, 6, 4, 1) and (y.compute() == 18).all()
    """
    da: Any = import_module("dask.array")

    rows = layout.index("H")
    window = w.shape[:2] if layout == "NHWC" else w.shape[2:]
    channels = w.shape[3] if layout == "NHWC" else w.shape[0]
    whole = {layout.index("C"): -1}
    after = {rows + n: extent - 1 for n, extent in enumerate(window)}
    least = {axis: _merged(x.chunks[axis], reach + 1) for axis, reach in after.items()}
    x = x.rechunk({**whole, **least})
    chunks = list(x.chunks)
    chunks[layout.index("C")] = (channels,)
    for axis, reach in after.items():
        *first, last = x.chunks[axis]
        chunks[axis] = (*first, last - reach)
    return da.map_overlap(
        partial(_filtered, w=w, layout=layout, target=target),
        x,
        depth={axis: (0, reach) for axis, reach in after.items()},
        boundary="none",
        trim=False,
        chunks=tuple(chunks),
        dtype=x.dtype,
        meta=np.empty((0,) * 4, x.dtype),
    )


def _merged(chunks: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Chunks of at least ``least``: short ones are merged with the previous one.

    >>> _merged((4, 4, 1), 3), _merged((1, 1, 1, 4), 3)
    ((4, 5), (3, 4))
    """
    made: list[int] = []
    for chunk in chunks:
        if made and (made[-1] < least or chunk < least):
            made[-1] += chunk
        else:
            made.append(chunk)
    return tuple(made)


def _filtered(x: Any, *, w: Any, layout: str, target: str) -> Any:
    from gpucodegen.kernels import conv2d as convolution

    return convolution(x, w, layout=layout, target=target)
