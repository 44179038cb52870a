"""Products and convolutions among the kernels that are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from bench.gpu import texts
from bench.gpu.kernel import GpuKernel, Kind, Make, normal_arrays
from bench.row import Limit, Work
from examples.problems import Answer, Arguments, Array, Size


def _added(inputs: str) -> Callable[..., Answer]:
    """The result, its first contents included, of sums that einsum writes."""

    def answer(*arguments: Array) -> Answer:
        *given, result = arguments
        product = np.einsum(inputs, *given, optimize=True)
        return {len(given): result.astype(product.dtype) + product}

    return answer


def _cube(m: int, n: int, k: int) -> dict[str, int]:
    return {"M": m, "N": n, "K": k}


def _product_work(size: Size, item: int = 4) -> Work:
    m, n, k, b = (*(size[name] for name in "MNK"), size.get("B", 1))
    return Work(2 * b * m * n * k, item * b * (m * k + k * n + 2 * m * n))


def _product(name: str, source: Make, size: Size, dtype: str = "f4") -> GpuKernel:
    return GpuKernel(
        name,
        Kind.PRODUCT,
        source,
        normal_arrays(("M", "K"), ("K", "N"), ("M", "N"), dtype=dtype),
        _added("mk,kn->mn"),
        partial(_product_work, item=np.dtype(dtype).itemsize),
        size,
        _cube(33, 47, 29),
        ("cuBLAS", "torch matmul", "Triton matmul"),
    )


def products() -> Iterator[GpuKernel]:
    """Products of matrices of several shapes and spellings."""
    sizes = {
        "f32 2048": _cube(2048, 2048, 2048),
        "f32 4096": _cube(4096, 4096, 4096),
        "f32 1024": _cube(1024, 1024, 1024),
        "f32 1000x513x777": _cube(1000, 513, 777),
        "f32 16x4096x4096": _cube(16, 4096, 4096),
    }
    for name, size in sizes.items():
        yield _product(name, texts.product, size)
    yield _product("f32 naive 4096", texts.naive_product, sizes["f32 4096"])
    open_ = _product("f32 open 4096", texts.open_product, sizes["f32 4096"])
    yield replace(open_, open_extents=lambda s: s["M"])
    wide = partial(texts.product, element="f64")
    yield _product("f64 4096", wide, sizes["f32 4096"], "f8")
    yield replace(
        _product("f32 512 batch 64", texts.batched_product, {**_cube(512, 512, 512)}),
        arguments=normal_arrays(("B", "M", "K"), ("B", "K", "N"), ("B", "M", "N")),
        answer=_added("bmk,bkn->bmn"),
        large={"B": 64, **_cube(512, 512, 512)},
        small={"B": 3, **_cube(33, 17, 29)},
        peers=("cuBLAS", "torch matmul"),
    )
    yield replace(
        _product("matvec 8192", texts.matvec, {}),
        arguments=normal_arrays(("M", "K"), ("K",), ("M",)),
        answer=_added("mk,k->m"),
        work=lambda s: Work(2 * s["M"] * s["K"], 4 * s["M"] * s["K"]),
        large={"M": 8192, "K": 8192},
        small={"M": 33, "K": 70},
        peers=("cuBLAS", "torch matmul"),
        limit=Limit.COPY,
    )


def _windows(image: Array, extent: int, axes: tuple[int, int]) -> Array:
    return np.lib.stride_tricks.sliding_window_view(image, (extent, extent), axes)


def _nhwc(image: Array, filter_: Array, result: Array) -> Answer:
    windows = _windows(image, len(filter_), (1, 2))
    found = np.einsum("bhwcrs,rscf->bhwf", windows, filter_, optimize=True)
    return {2: result + found}


def _nchw(image: Array, filter_: Array, result: Array) -> Answer:
    windows = _windows(image, filter_.shape[2], (2, 3))
    found = np.einsum("bchwrs,fcrs->bfhw", windows, filter_, optimize=True)
    return {2: result + found}


def _convolution_work(size: Size) -> Work:
    b, h, c, f, r = (size[name] for name in "BHCFR")
    moved = b * (h + r - 1) ** 2 * c + r * r * c * f + 2 * b * h * h * f
    return Work(2 * b * h * h * c * f * r * r, 4 * moved)


def _images(layout: str) -> Callable[..., Arguments]:
    shapes = {
        "nhwc": [("B", "I", "I", "C"), ("R", "R", "C", "F"), ("B", "H", "H", "F")],
        "nchw": [("B", "C", "I", "I"), ("F", "C", "R", "R"), ("B", "F", "H", "H")],
    }

    def made(rng: np.random.Generator, size: Size) -> Arguments:
        inner = size["H"] + size["R"] - 1
        return normal_arrays(*shapes[layout])(rng, {**size, "I": inner})

    return made


def convolutions() -> Iterator[GpuKernel]:
    """A layer in both layouts, and one of single pixels."""
    layer = {"B": 32, "H": 56, "C": 64, "F": 64, "R": 3}
    small = {"B": 2, "H": 5, "C": 6, "F": 7, "R": 3}
    last = GpuKernel(
        "conv nhwc 3x3 64",
        Kind.CONVOLUTION,
        texts.nhwc,
        _images("nhwc"),
        _nhwc,
        _convolution_work,
        layer,
        small,
        ("cuDNN nhwc",),
    )
    yield last
    point = {"large": {**layer, "R": 1}, "small": {**small, "R": 1}}
    yield replace(last, name="conv nhwc 1x1 64", **point)
    yield replace(
        last,
        name="conv nchw 3x3 64",
        source=texts.nchw,
        arguments=_images("nchw"),
        answer=_nchw,
        peers=("cuDNN nchw",),
    )
