"""Models in JAX's text: compiled once, and called, beside JAX itself.

Seconds of the processor to compile: ours from the text to the first result, with
nothing on disk; JAX's from the lowered function to the executable.  Each is measured
once, in a process that has compiled another text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np

import gpucodegen as gcg
from bench.harness import Times, processor_clock, race
from bench.row import OURS, Row, Settings

JAX = "JAX"
Model = Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]
"""From jax.numpy to a function and its arguments."""


def normal(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) * 0.1).astype(np.float32)


def transformer(jnp: Any, layers: int, width: int = 64, heads: int = 4) -> Any:
    """Decoder blocks before an output projection, on 2 texts of 32 tokens."""
    nn: Any = import_module("jax.nn")
    shapes = (
        (width, 3 * width),
        (width, width),
        (width, 4 * width),
        (4 * width, width),
    )
    weights = [[normal(*shape) for shape in shapes] for _ in range(layers)]

    def scaled(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)

    def block(x: Any, w: Any) -> Any:
        batch, length, _ = x.shape
        parts = jnp.split(scaled(x) @ w[0], 3, axis=-1)
        split = (batch, length, heads, width // heads)
        q, k, v = (part.reshape(split).transpose(0, 2, 1, 3) for part in parts)
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // heads)
        seen = jnp.tril(jnp.ones((length, length), bool))
        mixed = nn.softmax(jnp.where(seen, scores, -1e9)) @ v
        x = x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ w[1]
        return x + nn.gelu(scaled(x) @ w[2]) @ w[3]

    def model(weights: Any, embedding: Any, tokens: Any) -> Any:
        x = embedding[tokens]
        for each in weights:
            x = block(x, each)
        return x @ embedding.T

    tokens = np.arange(64, dtype=np.int32).reshape(2, 32) % 50
    return model, (weights, normal(50, width), tokens)


def training_step(jnp: Any) -> Any:
    """A step of gradient descent on a perceptron of three layers."""
    jax: Any = import_module("jax")
    sizes = (64, 128, 128, 10)
    weights = [normal(a, b) for a, b in pairwise(sizes)]

    def loss(weights: Any, x: Any, y: Any) -> Any:
        for each in weights[:-1]:
            x = jnp.tanh(x @ each)
        return ((x @ weights[-1] - y) ** 2).mean()

    def step(weights: Any, x: Any, y: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(weights, x, y)
        return value, [w - 0.1 * s for w, s in zip(weights, slopes, strict=True)]

    return step, (weights, normal(32, 64), normal(32, 10))


def heat(jnp: Any) -> Any:
    """A hundred explicit steps on a grid, in a loop of JAX."""
    del jnp
    lax: Any = import_module("jax.lax")

    def step(_: Any, u: Any) -> Any:
        near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.1 * (near - 4 * u[1:-1, 1:-1]))

    return lambda u: lax.fori_loop(0, 100, step, u), (normal(128, 128),)


def upsampling(jnp: Any) -> Any:
    """The transpose of a 3x3 convolution with a stride of 2, as decoders use it."""
    del jnp
    lax: Any = import_module("jax.lax")

    def model(x: Any, w: Any) -> Any:
        return lax.conv_transpose(
            x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    return model, (normal(4, 28, 28, 64), normal(3, 3, 64, 32))


def convolution_slope(jnp: Any) -> Any:
    """The gradient of a strided convolution's image."""
    jax: Any = import_module("jax")
    numbers = ("NHWC", "HWIO", "NHWC")

    def loss(x: Any, w: Any) -> Any:
        made = jax.lax.conv_general_dilated(
            x, w, (2, 2), "SAME", dimension_numbers=numbers
        )
        return jnp.tanh(made).sum()

    return jax.grad(loss), (normal(4, 56, 56, 32), normal(3, 3, 32, 64))


MODELS: dict[str, Model] = {
    "transformer, 1 layer": partial(transformer, layers=1),
    "transformer, 2 layers": partial(transformer, layers=2),
    "transformer, 4 layers": partial(transformer, layers=4),
    "a step of training": training_step,
    "heat in a loop": heat,
    "a transposed convolution": upsampling,
    "the slope of a strided one": convolution_slope,
}


@cache
def made(name: str) -> tuple[Any, Any, str, list[Any]]:
    """JAX's lowered model and its arguments; its text and the arrays of a call."""
    jax: Any = import_module("jax")
    function, arguments = MODELS[name](jax.numpy)
    lowered = jax.jit(function).lower(*arguments)
    return lowered, arguments, lowered.as_text(), jax.tree.leaves(arguments)


@dataclass(frozen=True, slots=True)
class Compiled:
    """How long one model takes to compile."""

    model: str

    @property
    def name(self) -> str:
        return f"{self.model}: compile"

    def measure(self, settings: Settings) -> Row:
        """One compile by each."""
        lowered, _, text, arrays = made(self.model)

        def ours() -> object:
            program = gcg.compile(text, target="cpu", threads=settings.threads)
            return program.main(*arrays)

        with patch.dict(os.environ, {"GPUCODEGEN_CACHE_SIZE": "0"}):
            _warm()
            times = {OURS: processor_clock(ours), JAX: processor_clock(lowered.compile)}
        return Row(self.name, {who: Times.of([s]) for who, s in times.items()})


@cache
def _warm() -> None:
    jax: Any = import_module("jax")
    x = np.ones((8, 8), np.float32)
    lowered = jax.jit(lambda x: jax.numpy.exp(x @ x).sum(0)).lower(x)
    gcg.compile(lowered.as_text(), target="cpu").main(x)
    lowered.compile()


@dataclass(frozen=True, slots=True)
class Called:
    """How long a call of one model takes, in turns with JAX."""

    model: str

    @property
    def name(self) -> str:
        return f"{self.model}: call"

    def measure(self, settings: Settings) -> Row:
        """Best and median of calls."""
        jax: Any = import_module("jax")
        lowered, arguments, text, arrays = made(self.model)
        program = gcg.compile(text, target="cpu", threads=settings.threads)
        theirs = lowered.compile()
        calls: dict[str, Callable[[], object]] = {
            OURS: lambda: program.main(*arrays),
            JAX: lambda: jax.block_until_ready(theirs(*arguments)),
        }
        times = race(*calls.values(), clock=settings.clock, budget=settings.budget)
        return Row(self.name, dict(zip(calls, times, strict=True)))


LINES: tuple[Compiled | Called, ...] = (
    *map(Compiled, MODELS),
    *map(Called, MODELS),
)
