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
    """The result, its first contents included, of sums that einsum writes.

    Numbers of two bytes are summed in f32, bf16 given by its codes.  Bytes are summed
    in f64, which holds such integers exactly and has fast products.
    """

    def answer(*arguments: Array) -> Answer:
        *given, result = map(_widened, arguments)
        product = np.einsum(inputs, *given, optimize=True)
        return {len(given): result.astype(product.dtype) + product}

    return answer


def _widened(array: Array) -> Array:
    if array.dtype == np.uint16:
        return (array.astype("u4") << 16).view("f4")
    wide = {"f2": "f4", "i1": "f8"}.get(array.dtype.str[1:])
    return array if wide is None else array.astype(wide)


def _cube(m: int, n: int, k: int) -> dict[str, int]:
    return {"M": m, "N": n, "K": k}


def _product_work(size: Size, item: int = 4, result: int = 0) -> Work:
    """``item`` and ``result``: bytes of an element of the factors, and of the sums."""
    m, n, k, b = (*(size[name] for name in "MNK"), size.get("B", 1))
    factors, sums = item * (m * k + k * n), (result or item) * 2 * m * n
    return Work(2 * b * m * n * k, b * (factors + sums))


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


def narrow_products() -> Iterator[GpuKernel]:
    """Products that tensor cores may make."""
    size = _cube(4096, 4096, 4096)

    def wide(element: str, result: str) -> Make:
        return partial(texts.product, element=element, result=result)

    f16 = _product("f16 4096", partial(texts.product, element="f16"), size, "f2")
    f16 = replace(f16, tolerance=2e-3)
    yield f16
    yield replace(f16, name="f16 4096 mma.sync", options={"arch": "sm_90"})
    yield replace(
        _product("bf16 4096", wide("bf16", "f32"), size),
        arguments=_narrowed(_bf16),
        work=partial(_product_work, item=2, result=4),
        peers=("torch bf16", "Triton bf16"),
    )
    yield replace(
        _product("i8 4096", wide("i8", "i32"), size),
        arguments=_narrowed(_bytes, "i4"),
        work=partial(_product_work, item=1, result=4),
        peers=("torch i8",),
        tolerance=0,
    )
    yield replace(
        _product("tf32 4096", texts.product, size),
        peers=("torch tf32", "Triton tf32"),
        options={"precision": "tf32"},
        tolerance=2e-3,
    )


def _bf16(array: Array) -> Array:
    """The codes of the nearest numbers towards zero."""
    return (array.view("u4") >> 16).astype("u2")


def _bytes(array: Array) -> Array:
    return np.clip(np.rint(array * 40), -128, 127).astype("i1")


def _narrowed(
    code: Callable[[Array], Array], result: str = "f4"
) -> Callable[..., Arguments]:
    """Two factors as ``code`` has them, and what is added to."""
    factors = normal_arrays(("M", "K"), ("K", "N"))

    def made(rng: np.random.Generator, size: Size) -> Arguments:
        added = rng.integers(-9, 10, (size["M"], size["N"])).astype(result)
        return (*map(code, factors(rng, size)), added)

    return made


def _windows(image: Array, extent: int, axes: tuple[int, int]) -> Array:
    return np.lib.stride_tricks.sliding_window_view(image, (extent, extent), axes)


def _nhwc(*arguments: Array) -> Answer:
    image, filter_, result = map(_widened, arguments)
    windows = _windows(image, len(filter_), (1, 2))
    found = np.einsum("bhwcrs,rscf->bhwf", windows, filter_, optimize=True)
    return {2: result + found}


def _nchw(image: Array, filter_: Array, result: Array) -> Answer:
    windows = _windows(image, filter_.shape[2], (2, 3))
    found = np.einsum("bchwrs,fcrs->bfhw", windows, filter_, optimize=True)
    return {2: result + found}


def _convolution_work(size: Size, item: int = 4) -> Work:
    b, h, c, f, r = (size[name] for name in "BHCFR")
    moved = b * (h + r - 1) ** 2 * c + r * r * c * f + 2 * b * h * h * f
    return Work(2 * b * h * h * c * f * r * r, item * moved)


def _images(layout: str, dtype: str = "f4") -> Callable[..., Arguments]:
    shapes = {
        "nhwc": [("B", "I", "I", "C"), ("R", "R", "C", "F"), ("B", "H", "H", "F")],
        "nchw": [("B", "C", "I", "I"), ("F", "C", "R", "R"), ("B", "F", "H", "H")],
    }

    def made(rng: np.random.Generator, size: Size) -> Arguments:
        inner = size["H"] + size["R"] - 1
        return normal_arrays(*shapes[layout], dtype=dtype)(rng, {**size, "I": inner})

    return made


def convolutions() -> Iterator[GpuKernel]:
    """A layer in both layouts, one of single pixels, and two of halves."""
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
    halves = replace(
        last,
        name="conv f16 nhwc 3x3 64",
        source=partial(texts.nhwc, element="f16"),
        arguments=_images("nhwc", "f2"),
        work=partial(_convolution_work, item=2),
        tolerance=2e-3,
    )
    yield halves
    wide = {**layer, "H": 28, "C": 256, "F": 256}
    yield replace(halves, name="conv f16 nhwc 3x3 256", large=wide)


def _attended(q: Array, k: Array, v: Array, _: Array) -> Answer:
    """Head by head in f64."""

    def head(number: int) -> Array:
        rows, keys, values = (x[number].astype("f8") for x in (q, k, v))
        scores = rows @ keys.T * rows.shape[-1] ** -0.5
        powers = np.exp(scores - scores.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True) @ values

    return {3: np.stack([head(number) for number in range(len(q))])}


def attentions() -> Iterator[GpuKernel]:
    """Two products with a softmax between them."""
    for depth in (64, 128):
        yield GpuKernel(
            f"attention f16 {depth}",
            Kind.PRODUCT,
            texts.attention,
            normal_arrays(*map(tuple, ("HLD", "HSD", "HSD", "HLD")), dtype="f2"),
            _attended,
            lambda s: Work(4 * s["H"] * s["L"] * s["S"] * s["D"]),
            {"H": 64, "L": 2048, "S": 2048, "D": depth},
            {"H": 2, "L": 70, "S": 90, "D": depth // 2},
            ("torch attention",),
            tolerance=4e-3,
        )
