"""The hundred single operations that a public GPU benchmark asks for.

They are those of KernelBench's level 1, stated anew: operations and shapes.  Each has a
call of `gpucodegen.kernels`, or a function of JAX whose text is compiled, the same in
NumPy's f64, and the flops that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpucodegen import kernels as gk

special: Any = import_module("scipy.special")
jax: Any = import_module("jax")
jnp, lax = jax.numpy, jax.lax
Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
LAYOUT = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@dataclass(frozen=True, slots=True)
class Problem:
    """An operation at its benchmark's size, and at one that is checked.

    ``call``: one of `gpucodegen.kernels`, which takes ``target``; ``of_jax``: a
    function of JAX in its place.  ``answer``: the same in NumPy, of arrays in f64.
    ``dtypes``: of the operands, where they are not f32.  ``flops``: of multiply-adds.
    """

    number: int
    name: str
    large: tuple[Shape, ...]
    small: tuple[Shape, ...]
    answer: Callable[..., Any]
    call: Callable[..., Any] | None = None
    of_jax: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = ()
    flops: float = 0.0
    tolerance: float = 2e-5

    def kinds(self) -> tuple[str, ...]:
        return self.dtypes or ("f4",) * len(self.large)


# -- what problems compute, in NumPy ---------------------------------------------------


def conv(
    x: Array, w: Array, strides: Shape, pads: Shape, gaps: Shape, groups: int
) -> Array:
    """Images (n, c, sides) and filters (f, c / groups, sides)."""
    n = len(strides)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pads)])
    reach = [(k - 1) * g + 1 for k, g in zip(w.shape[2:], gaps, strict=True)]
    seen = sliding_window_view(x, reach, tuple(range(2, n + 2)))
    seen = seen[(..., *(slice(None, None, g) for g in gaps))]
    seen = seen[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
    out = []
    for part, filters in zip(
        np.split(seen, groups, 1), np.split(w, groups), strict=True
    ):
        axes = [1, *range(n + 2, 2 * n + 2)], [1, *range(2, n + 2)]
        out.append(np.moveaxis(np.tensordot(part, filters, axes), -1, 1))
    return np.concatenate(out, 1)


def conv_transposed(
    x: Array,
    w: Array,
    strides: Shape,
    pads: Shape,
    gaps: Shape,
    groups: int,
    more: Shape,
) -> Array:
    """Images (n, c, sides) and filters (c, f / groups, sides)."""
    sides = x.shape[2:]
    full = [
        (e - 1) * s + (k - 1) * g + 1 + m
        for e, s, k, g, m in zip(sides, strides, w.shape[2:], gaps, more, strict=True)
    ]
    parts = []
    for image, filters in zip(np.split(x, groups, 1), np.split(w, groups), strict=True):
        made = np.zeros((x.shape[0], w.shape[1], *full))
        for at in np.ndindex(*w.shape[2:]):
            places = tuple(
                slice(t * g, t * g + (e - 1) * s + 1, s)
                for t, g, e, s in zip(at, gaps, sides, strides, strict=True)
            )
            term = np.einsum("nc...,cf->nf...", image, filters[(..., *at)])
            made[(slice(None), slice(None), *places)] += term
        parts.append(made)
    cut = tuple(slice(p, e - p) for p, e in zip(pads, full, strict=True))
    return np.concatenate(parts, 1)[(slice(None), slice(None), *cut)]


def pooled(
    x: Array, width: int, step: int, pad: int, gap: int, fill: float, least: Any
) -> Array:
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * n], constant_values=fill)
    axes = tuple(range(2, n + 2))
    seen = sliding_window_view(x, ((width - 1) * gap + 1,) * n, axes)
    seen = seen[(slice(None), slice(None), *[slice(None, None, step)] * n)]
    return least(seen[(..., *[slice(None, None, gap)] * n)], tuple(range(-n, 0)))


def normed(x: Array, axes: tuple[int, ...]) -> Array:
    far = x - x.mean(axes, keepdims=True)
    return far / np.sqrt((far * far).mean(axes, keepdims=True) + 1e-5)


def grouped(x: Any, groups: int) -> Any:
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


# -- the problems ----------------------------------------------------------------------


def products() -> Iterator[Problem]:
    def made(number: int, name: str, large: Any, small: Any, **more: Any) -> Problem:
        """Extents M, N, K; ``call`` and ``answer`` by default those of a product."""
        answer = more.pop("answer", np.matmul)
        turned = more.pop("turned", "")

        def shapes(m: int, n: int, k: int) -> tuple[Shape, Shape]:
            a = (k, m) if "a" in turned else (m, k)
            return a, ((n, k) if "b" in turned else (k, n))

        sides = {f"transpose_{x}": True for x in turned}
        if "of_jax" not in more:
            more.setdefault("call", partial(gk.matmul, **sides))

        def right(a: Array, b: Array) -> Array:
            return answer(a.T if "a" in turned else a, b.T if "b" in turned else b)

        flops = 2 * prod(large) * more.pop("share", 1)
        given = shapes(*large), shapes(*small), right
        return Problem(number, name, *given, flops=flops, **more)

    few = (33, 20, 17)
    yield made(1, "square product", (4096, 4096, 4096), few)
    yield made(2, "product", (2048, 4096, 8192), few)
    shapes = ((128, 512, 1024), (128, 1024, 2048)), ((3, 9, 10), (3, 10, 11))
    yield Problem(
        3, "batched product", *shapes, np.matmul, gk.matmul, flops=2 * 128 * 2**29 * 2
    )
    shapes = ((2048, 1048576), (1048576,)), ((9, 70), (70,))
    yield Problem(4, "matrix by vector", *shapes, np.matmul, gk.matvec)
    yield Problem(
        5,
        "matrix by scalar",
        *(((65536, 16384),), ((9, 70),)),
        lambda a: a * 3.14,
        lambda a, **k: gk.elementwise("a * 3.14", a=a, **k),
    )
    yield made(6, "large K", (256, 256, 524288), few)
    yield made(7, "small K", (32768, 32768, 64), few)
    yield made(8, "irregular product", (8205, 5921, 2949), few)
    yield made(9, "tall, skinny product", (32768, 32768, 32), few)
    shapes = ((16, 1024, 2048), (2048, 768)), ((3, 9, 10), (10, 11))
    flops = 2 * 16 * 1024 * 2048 * 768
    yield Problem(10, "3D tensor by matrix", *shapes, np.matmul, gk.matmul, flops=flops)
    shapes = ((8, 256, 512, 256), (256, 768)), ((2, 3, 5, 6), (6, 7))
    flops = 2 * 8 * 256 * 512 * 256 * 768
    einsum = partial(gk.einsum, "bijl,lk->bijk")
    yield Problem(11, "4D tensor by matrix", *shapes, np.matmul, einsum, flops=flops)
    yield Problem(
        12,
        "diagonal matrix",
        *(((4096,), (4096, 4096)), ((9,), (9, 7))),
        lambda a, b: a[:, None] * b,
        lambda a, b, **k: gk.elementwise("a * b", a=a[:, None], b=b, **k),
    )
    yield made(13, "symmetric product", (4096, 4096, 4096), few)
    square, few_square = (4096,) * 3, (33,) * 3
    for number, name, half in ((14, "upper", "triu"), (15, "lower", "tril")):
        yield made(
            *(number, f"{name} triangular product", square, few_square),
            answer=partial(_masked, mask=getattr(np, half)),
            of_jax=partial(_masked, mask=getattr(jnp, half)),
        )
    for number, turned in ((16, "a"), (17, "b"), (18, "ab")):
        about = number, f"product, {turned} transposed"
        yield made(*about, (2048, 4096, 8192), few, turned=turned)


def _masked(a: Any, b: Any, mask: Any) -> Any:
    return mask(mask(a) @ mask(b))


def elementwise() -> Iterator[Problem]:
    shapes = ((4096, 393216),), ((33, 70),)

    def made(number: int, name: str, text: str, answer: Any) -> Problem:
        def call(x: Any, **how: Any) -> Any:
            return gk.elementwise(text, x=x, **how)

        return Problem(number, name, *shapes, answer, call)

    where = np.where
    yield made(19, "ReLU", "relu(x)", lambda x: np.maximum(x, 0))
    leaky = "where(x > 0, x, x * 0.01)"
    yield made(20, "leaky ReLU", leaky, lambda x: where(x > 0, x, x * 0.01))
    yield made(21, "sigmoid", "sigmoid(x)", special.expit)
    yield made(22, "tanh", "tanh(x)", np.tanh)
    yield Problem(
        23,
        "softmax",
        *shapes,
        lambda x: special.softmax(x, 1),
        partial(gk.softmax, axis=1),
    )
    yield Problem(
        *(24, "log softmax", *shapes, lambda x: special.log_softmax(x, 1)),
        partial(gk.log_softmax, axis=1),
    )
    yield made(25, "swish", "silu(x)", lambda x: x * special.expit(x))
    yield made(26, "GELU", "gelu(x)", lambda x: x * special.ndtr(x))
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    yield made(
        *(27, "SELU", f"where(x > 0, {scale} * x, {scale * alpha} * (exp(x) - 1))"),
        lambda x: where(x > 0, scale * x, scale * alpha * np.expm1(x)),
    )
    hard = "minimum(maximum(x / 6 + 0.5, 0), 1)"
    yield made(28, "hard sigmoid", hard, lambda x: np.clip(x / 6 + 0.5, 0, 1))
    plus = "maximum(x, 0) + log1p(exp(-abs(x)))"
    yield made(29, "softplus", plus, lambda x: np.logaddexp(x, 0))
    yield made(30, "softsign", "x / (1 + abs(x))", lambda x: x / (1 + abs(x)))
    elu = "where(x > 0, x, exp(x) - 1)"
    yield made(31, "ELU", elu, lambda x: where(x > 0, x, np.expm1(x)))
    clip = "minimum(maximum(x, -1), 1)"
    yield made(32, "hard tanh", clip, lambda x: np.clip(x, -1, 1))
    gelu = "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"

    def new_gelu(x: Array) -> Array:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    found = made(88, "new GELU", gelu, new_gelu)
    yield replace(found, large=((8192, 8192),))


def norms() -> Iterator[Problem]:
    few = ((3, 8, 5, 6),)
    images = ((112, 64, 512, 512),)

    def with_jax(x: Any, axes: tuple[int, ...]) -> Any:
        mean = x.mean(axes, keepdims=True)
        return (x - mean) * lax.rsqrt(x.var(axes, keepdims=True) + 1e-5)

    def grouped_norm(x: Any, norm: Any) -> Any:
        return norm(grouped(x, 4), (2, 3, 4)).reshape(x.shape)

    def row_of(number: int, name: str, large: Any, answer: Any, of_jax: Any) -> Problem:
        small = few if len(large[0]) == 4 else ((33, 70),)
        return Problem(number, name, large, small, answer, of_jax=of_jax)

    axes = 0, 2, 3
    batch = ((64, 64, 512, 512),)
    yield row_of(
        33, "batch norm", batch, lambda x: normed(x, axes), lambda x: with_jax(x, axes)
    )
    at = 2, 3
    yield row_of(
        34, "instance norm", images, lambda x: normed(x, at), lambda x: with_jax(x, at)
    )
    yield row_of(
        *(35, "group norm", images, lambda x: grouped_norm(x, normed)),
        lambda x: grouped_norm(x, with_jax),
    )
    yield row_of(
        *(36, "RMS norm", images),
        lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5),
        lambda x: x / jnp.sqrt((x * x).mean(1, keepdims=True) + 1e-5),
    )
    yield row_of(
        *(37, "Frobenius norm", images),
        lambda x: x / np.sqrt((x * x).sum()),
        lambda x: x / jnp.sqrt((x * x).sum()),
    )
    rows = ((32768, 65535),)
    yield row_of(
        *(38, "L1 norm", rows),
        lambda x: x / abs(x).mean(1, keepdims=True),
        lambda x: x / jnp.abs(x).mean(1, keepdims=True),
    )
    yield row_of(
        *(39, "L2 norm", rows),
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
        lambda x: x / jnp.sqrt((x * x).sum(1, keepdims=True)),
    )
    yield Problem(
        *(40, "layer norm", ((16, 64, 256, 256), *[(64, 256, 256)] * 2)),
        ((3, 4, 5, 6), *[(4, 5, 6)] * 2),
        lambda x, w, b: normed(x, (1, 2, 3)) * w + b,
        lambda x, w, b, **k: gk.layer_norm(x, w.shape, w, b, **k),
    )


def pools() -> Iterator[Problem]:
    def made(
        number: int, call: Any, large: Shape, small: Shape, width: int, *more: int
    ) -> Problem:
        """``more``: stride, padding, and the dilation, which means have not."""
        is_mean = "avg" in call.__name__
        step, pad, gap = (*more, 1)[:3]
        how = {"window": width, "strides": step, "padding": pad}
        how |= {} if is_mean else {"dilations": gap}
        fill, least = (0, np.mean) if is_mean else (-np.inf, np.max)
        return Problem(
            *(number, call.__name__, (large,), (small,)),
            lambda x: pooled(x, width, step, pad, gap, fill, least),
            partial(call, layout=LAYOUT[len(large) - 2], **how),
        )

    line, image, body = (3, 5, 40), (2, 3, 17, 19), (2, 3, 9, 10, 11)
    yield made(41, gk.max_pool1d, (64, 192, 65536), line, 8, 1, 4, 3)
    yield made(42, gk.max_pool2d, (32, 64, 512, 512), image, 4, 1, 1)
    yield made(43, gk.max_pool3d, (16, 32, 128, 128, 128), body, 3, 2, 1, 3)
    yield made(44, gk.avg_pool1d, (64, 128, 65536), line, 8, 1, 4)
    yield made(45, gk.avg_pool2d, (16, 64, 2048, 2048), (1, 2, 23, 24), 11, 11, 0)
    yield made(46, gk.avg_pool3d, (16, 32, 128, 128, 256), body, 3, 2, 1)


def reductions() -> Iterator[Problem]:
    shapes = ((128, 4096, 4095),), ((3, 17, 20),)
    for number, name in (
        *((47, "sum"), (48, "mean"), (49, "max"), (51, "argmax"), (52, "argmin")),
        (53, "min"),
    ):
        call = partial(getattr(gk, name), axis=1)
        answer = partial(getattr(np, name), axis=1)
        yield Problem(number, f"{name} over a dimension", *shapes, answer, call)


def convolutions() -> Iterator[Problem]:
    def made(
        number: int, image: Shape, filters: int, window: Shape,
        strides: int | Shape = 1, pads: int | Shape = 0, gaps: int | Shape = 1,
        groups: int = 1, name: str = "",
    ) -> Problem:  # fmt: skip
        n = len(window)
        s, p, g = ((v,) * n if isinstance(v, int) else v for v in (strides, pads, gaps))
        small_image = (
            2,
            *_few(image[1], filters, groups)[:1],
            *((k - 1) * h + 2 * t + 2 for k, h, t in zip(window, g, s, strict=True)),
        )
        few = _few(image[1], filters, groups)
        call = {1: gk.conv1d, 2: gk.conv2d, 3: gk.conv3d}[n]
        made = [
            (e + 2 * q - (k - 1) * h - 1) // t + 1
            for e, q, k, h, t in zip(image[2:], p, window, g, s, strict=True)
        ]
        flops = 2 * image[0] * filters * prod(made) * prod(window) * image[1] / groups
        return Problem(
            *(number, name or f"conv {n}D {'x'.join(map(str, window))}"),
            (image, (filters, image[1] // groups, *window)),
            (small_image, (few[1], few[0] // few[2], *window)),
            lambda x, w: conv(
                x, w, s, p, g, few[2] if x.shape == small_image else groups
            ),
            lambda x, w, **k: call(
                *(x, w),
                strides=s,
                padding=tuple((q, q) for q in p),
                dilations=g,
                groups=few[2] if x.shape == small_image else groups,
                layout=LAYOUT[n],
                **k,
            ),
            flops=flops,
        )

    yield made(50, (256, 3, 224, 224), 96, (11, 11), 4, 2)
    yield made(54, (16, 3, 64, 64, 64), 64, (3, 3, 3))
    yield made(55, (8, 64, 512, 1024), 128, (3, 3))
    yield made(56, (8, 64, 512, 256), 128, (5, 7))
    yield made(59, (16, 3, 256, 256, 10), 64, (3, 3, 1))
    yield made(60, (16, 3, 64, 64, 64), 64, (3, 5, 7))
    yield made(62, (8, 32, 512, 512), 64, (5, 9))
    yield made(63, (16, 16, 1024, 1024), 128, (3, 3))
    yield made(66, (8, 3, 16, 128, 128), 64, (3, 5, 7))
    yield made(67, (32, 64, 131072), 128, (3,))
    yield made(76, (64, 64, 524280), 128, (3,), 3, 0, 4)
    yield made(80, (8, 32, 512, 512), 64, (5, 9), 1, (2, 4), (2, 3))
    yield made(82, (16, 64, 512, 512), 64, (3, 3), groups=64, name="depthwise 3x3")
    yield made(83, (64, 8, 512, 512), 8, (3, 1), groups=8, name="depthwise 3x1")
    yield made(
        84, (64, 128, 256, 512), 128, (3, 3), groups=128, name="depthwise 3x3 wide"
    )
    yield made(85, (32, 128, 128, 256), 128, (3, 7), groups=128, name="depthwise 3x7")
    yield made(87, (16, 64, 1024, 1024), 128, (1, 1), name="pointwise")

    def separable(x: Any, w: Any, v: Any, **k: Any) -> Any:
        how: dict[str, Any] = {"layout": "NCHW", **k}
        return gk.conv2d(gk.conv2d(x, w, padding=1, groups=x.shape[1], **how), v, **how)

    yield Problem(
        *(86, "depthwise separable"),
        ((16, 64, 512, 512), (64, 1, 3, 3), (128, 64, 1, 1)),
        ((2, 3, 7, 8), (3, 1, 3, 3), (5, 3, 1, 1)),
        lambda x, w, v: conv(
            conv(x, w, (1, 1), (1, 1), (1, 1), x.shape[1]), v, (1, 1), (0, 0), (1, 1), 1
        ),
        separable,
        flops=2 * 16 * 512 * 512 * (64 * 9 + 64 * 128),
    )


def _few(channels: int, filters: int, groups: int) -> tuple[int, int, int]:
    """Channels, filters and groups of a small problem of the same kind."""
    if groups == 1:
        return min(channels, 5), min(filters, 6), 1
    if groups == channels:
        return 4, 4, 4
    return 4, 6, 2


def transposed() -> Iterator[Problem]:
    def made(
        number: int, image: Shape, filters: int, window: Shape,
        strides: int | Shape = 1, pads: int | Shape = 0, gaps: int | Shape = 1,
        groups: int = 1, more: int | Shape = 0,
    ) -> Problem:  # fmt: skip
        n = len(window)
        s, p, g, m = (
            (v,) * n if isinstance(v, int) else v for v in (strides, pads, gaps, more)
        )
        few = _few(image[1], filters, groups)
        small = (2, few[0], *range(4, 4 + n))
        call = {1: gk.conv_transpose1d, 2: gk.conv_transpose2d, 3: gk.conv_transpose3d}[
            n
        ]
        flops = 2 * prod(image) * filters / groups * prod(window)
        return Problem(
            *(number, f"transposed conv {n}D {'x'.join(map(str, window))}"),
            (image, (image[1], filters // groups, *window)),
            (small, (few[0], few[1] // few[2], *window)),
            lambda x, w: conv_transposed(x, w, s, p, g, few[2], m),
            lambda x, w, **k: call(
                *(x, w),
                strides=s,
                padding=tuple((q, q) for q in p),
                dilations=g,
                output_padding=m,
                groups=few[2] if x.shape == small else groups,
                layout=LAYOUT[n],
                **k,
            ),
            flops=flops,
        )

    yield made(57, (8, 64, 1024, 1024), 64, (3, 3))
    yield made(58, (16, 32, 16, 32, 64), 16, (3, 5, 7))
    yield made(61, (8, 48, 64, 64, 64), 48, (3, 3, 3))
    yield made(64, (64, 128, 65536), 128, (3,))
    yield made(65, (8, 64, 512, 512), 64, (3, 7))
    yield made(68, (16, 32, 64, 64, 64), 64, (3, 5, 5))
    yield made(69, (64, 64, 128, 256), 128, (3, 5))
    yield made(70, (8, 48, 96, 96, 96), 24, (3, 3, 3))
    yield made(71, (8, 32, 512, 1024), 32, (3, 3))
    yield made(
        *(72, (8, 32, 12, 24, 48), 32, (3, 5, 7), 2, (1, 2, 3)), groups=4, more=1
    )
    yield made(73, (4, 32, 32, 64, 128), 32, (3, 3, 3), 2, 1, groups=4)
    yield made(74, (32, 32, 131072), 64, (5,), 1, 0, 3)
    yield made(*(75, (16, 32, 128, 256), 64, (3, 5), (2, 3), (1, 2), (2, 1)), groups=4)
    yield made(77, (16, 32, 16, 32, 32), 64, (3, 3, 3), 2, 1, 2)
    yield made(78, (8, 32, 512, 1024), 32, (3, 7), 1, (1, 3))
    yield made(79, (16, 32, 131072), 64, (3,), 2, 1, 2)
    yield made(81, (16, 32, 64, 128), 64, (3, 3), 5, 1, 2)


def scans() -> Iterator[Problem]:
    shapes = ((32768, 32768),), ((9, 70),)
    sums = partial(gk.cumsum, axis=1)
    yield Problem(89, "cumsum", *shapes, lambda x: x.cumsum(1), sums)
    products = partial(gk.cumprod, axis=1)
    yield Problem(90, "cumprod", *shapes, lambda x: x.cumprod(1), products)

    def reverse(x: Any) -> Any:
        return lax.cumsum(x, 1, reverse=True)

    def exclusive(x: Any) -> Any:
        return lax.cumsum(x, 1) - x

    yield Problem(
        *(91, "cumsum, reverse", *shapes, lambda x: x[:, ::-1].cumsum(1)[:, ::-1]),
        of_jax=reverse,
    )
    yield Problem(
        92, "cumsum, exclusive", *shapes, lambda x: x.cumsum(1) - x, of_jax=exclusive
    )
    yield Problem(
        *(93, "cumsum, masked", shapes[0] * 2, shapes[1] * 2),
        lambda x, mask: (x * mask).cumsum(1),
        of_jax=lambda x, mask: lax.cumsum(jnp.where(mask, x, 0), 1),
        dtypes=("f4", "?"),
    )


def losses() -> Iterator[Problem]:
    def made(
        number: int, name: str, large: Any, answer: Any, of_jax: Any, **more: Any
    ) -> Problem:
        small = tuple((33, 70)[: len(s)] for s in large)
        return Problem(number, name, large, small, answer, of_jax=of_jax, **more)

    pair = ((32768, 32768),) * 2
    yield made(
        *(94, "MSE loss", pair, lambda x, y: ((x - y) ** 2).mean()),
        lambda x, y: ((x - y) ** 2).mean(),
    )

    def crossed(x: Array, t: Array) -> Any:
        t = t.astype(int)
        return -special.log_softmax(x, 1)[np.arange(len(t)), t].mean()

    def crossed_jax(x: Any, t: Any) -> Any:
        chances = jax.nn.log_softmax(x, 1)
        return -jnp.take_along_axis(chances, t[:, None], 1).mean()

    yield made(
        *(95, "cross entropy", ((32768, 4096), (32768,)), crossed, crossed_jax),
        dtypes=("f4", "i4"),
    )

    def huber(x: Any, y: Any, xp: Any = jnp) -> Any:
        far = xp.abs(x - y)
        return xp.where(far < 1, 0.5 * far * far, far - 0.5).mean()

    yield made(96, "Huber loss", pair, partial(huber, xp=np), huber)

    def divergence(p: Any, t: Any, xp: Any = jnp) -> Any:
        return (t * (xp.log(t) - xp.log(p))).sum() / p.shape[0]

    found = made(
        98,
        "KL divergence",
        ((16384, 16384),) * 2,
        partial(divergence, xp=np),
        divergence,
    )
    yield replace(found, dtypes=("p4", "p4"))

    def triplet(a: Any, p: Any, n: Any, xp: Any = jnp) -> Any:
        near = xp.sqrt(((a - p + 1e-6) ** 2).sum(1))
        far = xp.sqrt(((a - n + 1e-6) ** 2).sum(1))
        return xp.maximum(near - far + 1, 0).mean()

    yield made(
        99,
        "triplet margin loss",
        ((32768, 8192),) * 3,
        partial(triplet, xp=np),
        triplet,
    )

    shapes = ((32768, 32768), (32768,))
    yield made(100, "hinge loss", shapes, partial(hinge_rows, xp=np), hinge_rows)


def hinge_rows(p: Any, t: Any, xp: Any = jnp) -> Any:
    return xp.maximum(1 - p * t[:, None], 0).mean()


def attention() -> Iterator[Problem]:
    shape, few = (32, 32, 512, 1024), (2, 2, 24, 16)

    def answer(q: Array, k: Array, v: Array) -> Array:
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        return special.softmax(scores, -1) @ v

    yield Problem(
        *(97, "attention", (shape,) * 3, (few,) * 3, answer),
        gk.scaled_dot_product_attention,
        dtypes=("f2",) * 3,
        flops=4 * 32 * 32 * 512 * 512 * 1024,
        tolerance=4e-3,
    )


GROUPS = (
    *(products, elementwise, norms, pools, reductions, convolutions, transposed),
    *(scans, losses, attention),
)
PROBLEMS = {p.number: p for p in chain.from_iterable(group() for group in GROUPS)}
