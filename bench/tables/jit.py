"""Ten functions of plain Python, by `gpucodegen.jit` and by Numba."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.case import Case, copied
from bench.peers import numba_peer
from bench.row import Limit, Work
from examples.problems import RESULT, Answer, Arguments
from examples.python_functions import FUNCTIONS, Problem


def case(name: str, problem: Problem) -> Case:
    """One function; the answer is that of Numba without ``fastmath``."""

    def arguments(rng: np.random.Generator) -> Arguments:
        return problem.arguments(rng, problem.large)

    def answer(*given: Any) -> Answer:
        numba: Any = import_module("numba")
        fresh = copied(given)
        result = numba.njit(problem.function)(*fresh)
        found = {n: a for n, a in enumerate(fresh) if isinstance(a, np.ndarray)}
        return found if result is None else {**found, RESULT: result}

    example = problem.arguments(np.random.default_rng(0), problem.small)
    return Case(
        name=f"{name} {problem.large}",
        source=gcg.jit(problem.function).mlir(*example),
        entry=problem.function.__name__,
        arguments=arguments,
        answer=answer,
        peers=(numba_peer(problem.function, "Numba"),),
        work=Work(),
        limit=Limit.NONE,
        restore=True,
    )


LINES = tuple(case(name, problem) for name, problem in FUNCTIONS.items())
