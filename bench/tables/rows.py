"""Reductions along rows and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from bench.case import Case, Peer
from bench.peers import numpy_peer, torch_peer
from bench.row import Limit, Work
from examples.catalogue import PROGRAMS
from examples.problems import Arguments, Array, exact, numbers

SHAPES = ((4096, 4096), (1000, 513), (64, 30000), (20000, 64))
EPSILON = 1e-5
"""What is added to a variance, as the texts do it."""
TEXTS = Path(__file__).with_name("rows.mlir")


def row_max(x: Array) -> Array:
    """The largest element of each row."""
    return x.max(1)


def softmax(x: Array) -> Array:
    """The exponentials of each row, divided by their sum."""
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def layernorm(x: Array, scale: Array, shift: Array) -> Array:
    """Each row, less its mean, over its standard deviation."""
    deviation = np.sqrt(x.var(1, keepdims=True) + EPSILON)
    return (x - x.mean(1, keepdims=True)) / deviation * scale + shift


SUM = PROGRAMS["row_sum"]
SUM_PEERS = (
    numpy_peer(lambda a, s: np.sum(a, axis=1, out=s)),
    torch_peer(lambda torch: lambda a, s: torch.sum(a, 1, out=s)),
)
MAX_PEERS = (
    numpy_peer(lambda x, s: np.amax(x, axis=1, out=s)),
    torch_peer(lambda torch: lambda x, s: torch.amax(x, 1, out=s)),
)
SOFTMAX_PEERS = (torch_peer(lambda torch: lambda x, y: torch.softmax(x, 1, out=y)),)
LAYERNORM_PEERS = (
    torch_peer(
        lambda torch: (
            lambda x, scale, shift, _: torch.nn.functional.layer_norm(
                x, scale.shape, scale, shift, EPSILON
            )
        ),
        name="torch, new array",
    ),
)


def row_sum(m: int, n: int) -> Case:
    """The program of the examples."""
    size = {"M": m, "N": n}
    work = Work(SUM.problem.work(size), 4 * m * n)
    return Case.of(SUM, size, SUM_PEERS, limit=Limit.COPY, work=work)


def line(
    entry: str,
    inputs: Callable[[int, int], tuple[tuple[int, ...], ...]],
    answer: Callable[..., Array],
    peers: tuple[Peer, ...],
    m: int,
    n: int,
) -> Case:
    """A function of `TEXTS` on rows of ``n``: ``inputs`` and then its result.

    Counted are the bytes of the arrays, once each, and no operations: what exponentials
    and roots cost is no number of sums and products.
    """
    shapes = inputs(m, n)
    result = (m,) if entry == "row_max" else (m, n)

    def arguments(rng: np.random.Generator) -> Arguments:
        given = (numbers(rng, "f4", *shape) for shape in shapes)
        return (*given, np.zeros(result, "f4"))

    return Case(
        name=f"{entry} {m}x{n}",
        source=TEXTS,
        entry=entry,
        arguments=arguments,
        answer=lambda *given: {len(shapes): answer(*map(exact, given[:-1]))},
        peers=peers,
        work=Work(0, 4 * sum(map(prod, (*shapes, result)))),
        limit=Limit.COPY,
        tolerance=1e-5,
    )


def _matrix(m: int, n: int) -> tuple[tuple[int, ...], ...]:
    return ((m, n),)


def _with_scales(m: int, n: int) -> tuple[tuple[int, ...], ...]:
    return ((m, n), (n,), (n,))


KINDS: tuple[Callable[[int, int], Case], ...] = (
    row_sum,
    partial(line, "row_max", _matrix, row_max, MAX_PEERS),
    partial(line, "softmax", _matrix, softmax, SOFTMAX_PEERS),
    partial(line, "softmax_loops", _matrix, softmax, SOFTMAX_PEERS),
    partial(line, "layernorm", _with_scales, layernorm, LAYERNORM_PEERS),
    partial(line, "layernorm_loops", _with_scales, layernorm, LAYERNORM_PEERS),
)

LINES = (
    row_sum(**{key.lower(): value for key, value in SUM.large.items()}),
    *(kind(m, n) for kind in KINDS for m, n in SHAPES),
)
