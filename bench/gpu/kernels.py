"""The kernels that are measured on a GPU.

``KERNELS`` is the one table: the report's figures are held for its rows, and the
benchmark checks and times them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.gpu.kernel import GpuKernel, Kind
from bench.gpu.memory_bound import histograms, reductions, streams
from bench.gpu.products import (
    attentions,
    convolutions,
    narrow_products,
    products,
)
from bench.row import Work
from examples.catalogue import PROGRAMS
from examples.polybench.catalogue import KERNELS as POLYBENCH
from examples.problems import Problem


def _example(
    name: str, kind: Kind, path: Path, problem: Problem, entry: str, **more: Any
) -> GpuKernel:
    return GpuKernel(
        name,
        kind,
        path,
        problem.arguments,
        problem.answer,
        lambda s: Work(problem.work(s)),
        entry=entry,
        tolerance=1e-3,
        **more,
    )


def _sequential() -> Iterator[GpuKernel]:
    jacobi, trsm = PROGRAMS["jacobi_2d"], PROGRAMS["trsm"]
    yield _example(
        "jacobi 4096",
        Kind.STENCIL,
        jacobi.path,
        jacobi.problem,
        jacobi.entry,
        large={"T": 8, "H": 4096, "W": 4096},
        small=jacobi.small,
        open_extents=lambda s: {**s, "B_size0": s["H"], "B_size1": s["W"]},
    )
    yield _example(
        "trsm 1024",
        Kind.SOLVER,
        trsm.path,
        trsm.problem,
        trsm.entry,
        large=dict.fromkeys(trsm.large, 1024),
        small=trsm.small,
        open_extents=dict,
    )
    for name in ("lu", "cholesky"):
        solver = POLYBENCH[name]
        yield _example(
            f"{name} 1024",
            Kind.SOLVER,
            solver.path,
            solver.problem,
            solver.entry,
            large={"N": 1024},
            open_extents=dict,
            small={"N": 19},
        )


KERNELS: dict[str, GpuKernel] = {
    kernel.name: kernel
    for kernel in (
        *products(),
        *narrow_products(),
        *convolutions(),
        *attentions(),
        *reductions(),
        *histograms(),
        *streams(),
        *_sequential(),
    )
}
"""By name."""
