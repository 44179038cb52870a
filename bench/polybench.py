"""PolyBench rows: how long the analysis takes, and kernels against plain Numba loops.

Comes in: the catalogue of kernels.  Goes out: per kernel a row of its analysis, whose
peer is the budget of 100 ms, and one of its run time, whose peer is ``numba.njit`` of
the same loops.  Every kernel is checked against its peer before it is timed.
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import gpucodegen as gcg
from bench.harness import Failure, Row, Times, attempt, race, wall_clock
from examples.polybench.catalogue import KERNELS
from gpucodegen import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from examples.catalogue import Program
    from examples.polybench.kernel import Loops
    from examples.problems import Arguments, Array

BUDGET = Times(0.1, 0.1)
"""Seconds that the analysis of a function may typically take."""


def rows(wanted: str = "", budget: float = 2.0) -> Iterator[Row | Failure]:
    """Both rows of every kernel whose name contains ``wanted``."""
    for name, kernel in KERNELS.items():
        if wanted in name:
            yield attempt(f"{name}: analysis", partial(_analysis, kernel, budget))
            yield attempt(f"{name}: run", partial(_run, kernel, budget))


def _analysis(kernel: Program, budget: float) -> Row:
    module = gcg.parse(kernel.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        ours, _ = race(partial(gcg.analyze, module), _nothing, budget=budget / 4)
    name = f"{kernel.name}: analysis"
    return Row(name, "budget", ours, BUDGET, 10**9, "functions/s")


def _nothing() -> None:
    """What an analysis alternates with."""


def _run(kernel: Program, budget: float) -> Row:
    numba: Any = import_module("numba")
    given = kernel.arguments(kernel.large)
    ours, theirs = _copied(given), _copied(given)
    compiled = gcg.compile(kernel.path, target="cpu")[kernel.entry]
    peer: Callable[..., None] = numba.njit(cast("Loops", kernel.problem).loops)
    compiled(*ours)
    peer(*theirs)
    kernel.check(_arrays(theirs), ours)
    launch = compiled.bind(*ours)

    def clock(call: Callable[[], object]) -> float:
        """Seconds of a call on the arguments that were given."""
        for at, fresh in _arrays(given).items():
            ours[at][...] = theirs[at][...] = fresh
        return wall_clock(call)

    times = race(launch, lambda: peer(*theirs), clock=clock, budget=budget, least=3)
    size = "x".join(map(str, kernel.large.values()))
    work = kernel.problem.work(kernel.large)
    return Row(f"{kernel.name} {size}: run", "numba.njit", *times, work)


def _arrays(arguments: Arguments) -> dict[int, Array]:
    return {at: a for at, a in enumerate(arguments) if isinstance(a, np.ndarray)}


def _copied(arguments: Arguments) -> Arguments:
    fresh = {at: array.copy() for at, array in _arrays(arguments).items()}
    return tuple(fresh.get(at, a) for at, a in enumerate(arguments))
