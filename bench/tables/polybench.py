"""PolyBench: products at LARGE size, and every kernel against the same loops in Numba.

The products stand against naive parallel loops in Numba and against what NumPy users
write; results and their order are those of the loops.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import numpy as np

from bench import naive
from bench.case import Call, Case, Peer, arrays
from bench.peers import numba_peer, numpy_peer
from bench.row import Work
from examples.catalogue import Program
from examples.polybench.catalogue import DATASET, KERNELS
from examples.polybench.kernel import Loops
from examples.problems import Answer, Arguments, Array, Size, exact

PRODUCTS = ("gemm", "2mm", "3mm", "syrk", "doitgen", "covariance")


def gemm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> None:
    """``C = alpha A B + beta C``."""
    np.multiply(beta, C, out=C)
    np.add(C, alpha * (A @ B), out=C)


def k2mm(
    alpha: float, beta: float, tmp: Array, A: Array, B: Array, C: Array, D: Array
) -> None:
    """``D = beta D + (alpha A B) C``."""
    np.multiply(alpha, A @ B, out=tmp)
    np.multiply(beta, D, out=D)
    np.add(D, tmp @ C, out=D)


def k3mm(E: Array, A: Array, B: Array, F: Array, C: Array, D: Array, G: Array) -> None:
    """``G = (A B) (C D)``."""
    np.matmul(A, B, out=E)
    np.matmul(C, D, out=F)
    np.matmul(E, F, out=G)


def syrk(alpha: float, beta: float, C: Array, A: Array) -> None:
    """The lower triangle of ``C = alpha A A' + beta C``."""
    lower = np.tri(*C.shape, dtype=bool)
    np.copyto(C, beta * C + alpha * (A @ A.T), where=lower)


def doitgen(A: Array, C4: Array, total: Array) -> None:
    """``A[r, q, :] = A[r, q, :] C4``."""
    A[...] = A @ C4
    total[...] = A[-1, -1]


def covariance(data: Array, cov: Array, mean: Array) -> None:
    """Covariances of the columns of ``data``, which is centred."""
    np.mean(data, axis=0, out=mean)
    data -= mean
    np.matmul(data.T, data, out=cov)
    cov /= len(data) - 1.0


EXPRESSIONS: dict[str, Callable[..., None]] = {
    f.__name__: f for f in (gemm, k2mm, k3mm, syrk, doitgen, covariance)
}


def loops_in_numba(kernel: Program) -> Callable[..., Any]:
    """The plain loops of a kernel, compiled for one thread."""
    numba: Any = import_module("numba")
    return numba.njit(cast("Loops", kernel.problem).loops)


def answer(kernel: Program, *arguments: Any) -> Answer:
    """Every array as the loops leave it."""
    found = {at: exact(array) for at, array in arrays(arguments).items()}
    loops_in_numba(kernel)(*(found.get(at, a) for at, a in enumerate(arguments)))
    return found


def case(kernel: Program, size: Size, peers: tuple[Peer, ...]) -> Case:
    """A kernel in double precision; its arrays are fresh for every call."""
    problem = cast("Loops", kernel.problem)
    return Case.of(
        kernel,
        size,
        peers,
        answer=lambda *arguments: answer(kernel, *arguments),
        work=Work(problem.work(size), 8 * problem.elements(size)),
        dtype="f64",
        restore=True,
    )


def product(name: str) -> Case:
    """A product at LARGE size."""
    kernel = KERNELS[name]
    peers = (
        numpy_peer(EXPRESSIONS[kernel.entry]),
        numba_peer(getattr(naive, kernel.entry), "Numba parallel loops"),
    )
    return case(kernel, DATASET[name], peers)


def as_loops(kernel: Program) -> Case:
    """A kernel against the same loops."""

    def make(arguments: Arguments) -> Call:
        compiled = loops_in_numba(kernel)
        return lambda: compiled(*arguments)

    return case(kernel, kernel.large, (Peer("Numba loops", make, "numba"),))


LINES = (*map(product, PRODUCTS), *map(as_loops, KERNELS.values()))
