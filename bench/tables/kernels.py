"""Ready-made operations on arrays, called as users call them, beside other libraries.

Every side makes its result.  NumPy is asked as one writes it there; torch and JAX take
part where they are installed, JAX with its function compiled before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.harness import SETTLE, race
from bench.peers import jax_peer, numpy_peer, torch_peer
from bench.row import OURS, Limit, Row, Settings, Work
from examples.problems import Array

K = gcg.kernels
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, its operands' shapes, and the same in other libraries.

    ``numpy`` is the answer, too.  ``torch`` and ``jax`` map the library, or
    ``jax.numpy``, to a function; None where there is none.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    ours: Function
    numpy: Function
    torch: Callable[[Any], Function] | None = None
    jax: Callable[[Any], Function] | None = None
    flops: int = 0

    def measure(self, settings: Settings) -> Row:
        """Check against NumPy, then race."""
        rng = np.random.default_rng(0)
        given = tuple(rng.standard_normal(s).astype("f4") for s in self.shapes)
        result, expected = self.ours(*given), self.numpy(*given)
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)
        calls = {OURS: partial(self.ours, *given)}
        for peer in self._peers(len(given)):
            if peer.is_installed:
                calls[peer.name] = peer.make(given)
        times = race(
            *calls.values(),
            clock=settings.clock,
            budget=settings.budget,
            settle=SETTLE if settings.threads > 1 else 0.0,
        )
        traffic = sum(a.nbytes for a in given) + np.asarray(result).nbytes
        limit = Limit.FMA if self.flops else Limit.COPY
        work = Work(self.flops, traffic)
        return Row(self.name, dict(zip(calls, times, strict=True)), work, limit, "f32")

    def _peers(self, inputs: int) -> list[Any]:
        peers = [numpy_peer(self.numpy)]
        if self.torch is not None:
            peers.append(torch_peer(self.torch))
        if self.jax is not None:
            peers.append(jax_peer(self.jax, inputs))
        return peers


def softmax(x: Array) -> Array:
    """The exponentials of each row, divided by their sum."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def layer_norm(x: Array) -> Array:
    """Each row, less its mean, over its standard deviation."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(q: Array, k: Array, v: Array) -> Array:
    """Softmax of scores, times values."""
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def convolution(x: Array, w: Array) -> Array:
    """The valid convolution of images NHWC: a product of windows and filters."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], (1, 2))
    return np.einsum("nyxchw,hwcf->nyxf", windows, w, optimize=True)


def pooled(x: Array) -> Array:
    """The largest of each 2 x 2 elements of images NHWC."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def relaxed(x: Array) -> Array:
    """Ten steps of the mean of four neighbours."""
    x = x.copy()
    for _ in range(10):
        y = x.copy()
        y[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
        x = y
    return x


CROSS = ((0, 0.25, 0), (0.25, 0, 0.25), (0, 0.25, 0))
CHAIN = "ij,jk,kl->il"


def _torch_convolution(torch: Any) -> Function:
    def call(x: Any, w: Any) -> Any:
        filters = w.permute(3, 2, 0, 1)
        return torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), filters)

    return call


def _products() -> list[Operation]:
    sizes = (64, 512, 1024)
    square = [
        Operation(
            f"matmul {n}x{n}x{n}",
            ((n, n), (n, n)),
            K.matmul,
            np.matmul,
            lambda torch: torch.matmul,
            lambda jnp: jnp.matmul,
            2 * n**3,
        )
        for n in sizes
    ]
    return [
        *square,
        Operation(
            "matmul 32x128x128x64",
            ((32, 128, 64), (32, 64, 128)),
            K.matmul,
            np.matmul,
            lambda torch: torch.matmul,
            lambda jnp: jnp.matmul,
            2 * 32 * 128 * 128 * 64,
        ),
        Operation(
            "matmul + bias + relu 512x512x512",
            ((512, 512), (512, 512), (512,)),
            lambda x, w, b: K.matmul(x, w, bias=b, activation="relu"),
            lambda x, w, b: np.maximum(x @ w + b, 0),
            lambda torch: lambda x, w, b: torch.addmm(b, x, w).relu_(),
            lambda jnp: lambda x, w, b: jnp.maximum(x @ w + b, 0),
            2 * 512**3,
        ),
        Operation(
            f"einsum {CHAIN}",
            ((512, 32), (32, 512), (512, 64)),
            partial(K.einsum, CHAIN),
            lambda *given: np.einsum(CHAIN, *given, optimize=True),
            lambda torch: partial(torch.einsum, CHAIN),
            lambda jnp: partial(jnp.einsum, CHAIN),
            2 * 2 * 32 * 512 * 64,
        ),
        Operation(
            "attention 8x512x64",
            ((8, 512, 64),) * 3,
            K.scaled_dot_product_attention,
            attention,
            lambda torch: torch.nn.functional.scaled_dot_product_attention,
            flops=4 * 8 * 512 * 512 * 64,
        ),
        Operation(
            "conv2d 1x56x56x64 -> 64 3x3",
            ((1, 58, 58, 64), (3, 3, 64, 64)),
            K.conv2d,
            convolution,
            _torch_convolution_last,
            flops=2 * 56 * 56 * 64 * 64 * 9,
        ),
    ]


def _torch_convolution_last(torch: Any) -> Function:
    inner = _torch_convolution(torch)
    return lambda x, w: inner(x, w).permute(0, 2, 3, 1)


def _rows() -> list[Operation]:
    shape = ((1024, 1024),)
    return [
        Operation(
            "softmax 1024x1024",
            shape,
            K.softmax,
            softmax,
            lambda torch: lambda x: torch.softmax(x, -1),
        ),
        Operation(
            "layer_norm 1024x1024",
            shape,
            lambda x: K.layer_norm(x, 1024),
            layer_norm,
            lambda torch: lambda x: torch.nn.functional.layer_norm(x, (1024,)),
        ),
        *(
            Operation(
                f"{name} 1024x1024 axis={axis}",
                shape,
                partial(getattr(K, name), axis=axis),
                partial(getattr(np, name), axis=axis),
                lambda torch, name=name, axis=axis: (
                    lambda x: getattr(torch, name)(x, axis)
                ),
                lambda jnp, name=name, axis=axis: partial(
                    getattr(jnp, name), axis=axis
                ),
            )
            for name in ("sum", "mean", "var", "argmax", "cumsum")
            for axis in (0, 1)
        ),
    ]


def _grids() -> list[Operation]:
    line = ((1 << 20,),) * 2
    return [
        Operation(
            "elementwise exp(-x*x)*y + x 1048576",
            line,
            lambda x, y: K.elementwise("exp(-x*x)*y + x", x=x, y=y),
            lambda x, y: np.exp(-x * x) * y + x,
            lambda torch: lambda x, y: torch.exp(-x * x) * y + x,
            lambda jnp: lambda x, y: jnp.exp(-x * x) * y + x,
        ),
        Operation(
            "elementwise x + y 16",
            ((16,), (16,)),
            lambda x, y: K.elementwise("x + y", x=x, y=y),
            np.add,
            lambda torch: torch.add,
            lambda jnp: jnp.add,
        ),
        Operation(
            "transpose 1024x1024",
            ((1024, 1024),),
            K.transpose,
            lambda x: np.ascontiguousarray(x.T),
            lambda _: lambda x: x.t().contiguous(),
        ),
        Operation(
            "max_pool2d 8x64x64x32",
            ((8, 64, 64, 32),),
            lambda x: K.max_pool2d(x, 2),
            pooled,
        ),
        Operation(
            "stencil 1024x1024, 10 steps",
            ((1024, 1024),),
            lambda x: K.stencil(x, CROSS, 10),
            relaxed,
            flops=10 * 7 * 1022**2,
        ),
    ]


LINES = (*_products(), *_rows(), *_grids())
