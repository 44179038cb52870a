"""Every program of the examples at its large size, against one peer."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import numpy as np

from bench.case import Call, Case, Peer
from bench.peers import numpy_peer, ours, torch_peer
from examples.catalogue import PROGRAMS, Program
from examples.problems import Arguments, Array, Convolution


def product(arguments: Arguments) -> Call:
    """``numpy.matmul`` into a result that exists."""
    a, b = arguments[:2]
    result: Array = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return lambda: np.matmul(a, b, out=result)


def layer(arguments: Arguments) -> Call:
    """Product, bias and maximum in NumPy, all in one result that exists."""
    x, w, bias = arguments
    result: Array = np.empty((x.shape[0], w.shape[1]), x.dtype)

    def call() -> None:
        np.matmul(x, w, out=result)
        np.add(result, bias, out=result)
        np.maximum(result, 0, out=result)

    return call


def convolution(program: Program) -> tuple[Peer, ...]:
    """torch in the same layout; one product per filter tap in NumPy."""
    problem = cast("Convolution", program.problem)

    def with_torch(torch: Any) -> Callable[..., object]:
        def call(x: Any, w: Any, _result: Any) -> object:
            if problem.layout == "nhwc":
                x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
            return torch.nn.functional.conv2d(
                x, w, stride=problem.strides, dilation=problem.dilations
            )

        return call

    return torch_peer(with_torch), numpy_peer(lambda x, w, _: problem.convolve(x, w))


def slices(arguments: Arguments) -> Call:
    """Five-point means as whole-array arithmetic."""
    steps, a, b = arguments

    def relax(old: Array, new: Array) -> None:
        beside = old[1:-1, :-2] + old[1:-1, 2:]
        across = old[:-2, 1:-1] + old[2:, 1:-1]
        new[1:-1, 1:-1] = np.float32(0.2) * (old[1:-1, 1:-1] + beside + across)

    def call() -> None:
        for _ in range(steps):
            relax(a, b)
            relax(b, a)

    return call


def solve(arguments: Arguments) -> Call:
    """SciPy's triangular solver."""
    scipy: Any = import_module("scipy.linalg")
    function: Callable[..., object] = scipy.solve_triangular
    return lambda: function(*arguments[:2], lower=True, check_finite=False)


def peers_of(program: Program) -> tuple[Peer, ...]:
    """Who does the same work."""
    if program.name.startswith("conv_2d"):
        return convolution(program)
    return {
        "dense_layer": (Peer("NumPy", layer),),
        "jacobi_2d": (Peer("NumPy", slices),),
        "seidel_2d": (
            ours(program.path, program.entry, "parallel loops", time_tiles=False),
        ),
        "trsv": (Peer("SciPy", solve, "scipy"),),
        "trsm": (Peer("SciPy", solve, "scipy"),),
        "row_sum": (numpy_peer(lambda a, s: np.sum(a, axis=1, out=s)),),
    }.get(program.name, (Peer("NumPy", product),))


LINES = tuple(
    Case.of(program, program.large, peers_of(program)) for program in PROGRAMS.values()
)
