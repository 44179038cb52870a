"""CPU rows: example programs against NumPy, and against torch or SciPy if installed.

Comes in: the catalogue of examples.  Goes out: rows; every program is checked before it
is timed, and its arguments are made anew for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import gpucodegen as gcg
from bench.harness import Failure, Row, attempt, race
from examples.catalogue import PROGRAMS
from gpucodegen.runtime.device import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from examples.catalogue import Program
    from examples.problems import Array, Convolution, Size

    Peer = tuple[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Case:
    """A program at a size, and how the peer does the same work."""

    program: str
    size: Mapping[str, int]
    peer: Callable[[Program, tuple[Any, ...]], Peer]

    @property
    def name(self) -> str:
        """Program and extents."""
        return f"{self.program} {'x'.join(str(n) for n in self.size.values())}"


def numpy_matmul(_program: Program, arguments: tuple[Any, ...]) -> Peer:
    """``numpy.matmul`` into a result that exists."""
    a: Array = arguments[0]
    b: Array = arguments[1]
    c: Array = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return "NumPy", lambda: np.matmul(a, b, out=c)


def convolution(program: Program, arguments: tuple[Any, ...]) -> Peer:
    """PyTorch in the same layout if installed, else one product per filter tap."""
    problem = cast("Convolution", program.problem)
    if find_spec("torch") is None:
        return "NumPy", lambda: problem.convolve(*arguments[:2])
    torch: Any = import_module("torch")
    conv: Callable[..., object] = torch.nn.functional.conv2d
    x, w = (torch.from_numpy(array) for array in arguments[:2])
    if problem.layout == "nhwc":
        x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
        w = w.contiguous(memory_format=torch.channels_last)
    return "torch", lambda: conv(
        x, w, stride=problem.strides, dilation=problem.dilations
    )


def numpy_jacobi(_program: Program, arguments: tuple[Any, ...]) -> Peer:
    """Whole-array arithmetic with slices."""
    steps, a, b = arguments[0], arguments[1].copy(), arguments[2].copy()
    fifth = np.float32(0.2)

    def relax(old: Array, new: Array) -> None:
        beside = old[1:-1, :-2] + old[1:-1, 2:]
        across = old[:-2, 1:-1] + old[2:, 1:-1]
        new[1:-1, 1:-1] = fifth * (old[1:-1, 1:-1] + beside + across)

    def call() -> None:
        for _ in range(steps):
            relax(a, b)
            relax(b, a)

    return "NumPy slices", call


def untiled(program: Program, arguments: tuple[Any, ...]) -> Peer:
    """The same program without time tiling: parallel loops inside the time loop."""
    compiled = gcg.compile(program.path, target="cpu", time_tiles=False)
    copies: list[Any] = [
        a.copy() if isinstance(a, np.ndarray) else a for a in arguments
    ]
    return "parallel loops", compiled[program.entry].bind(*copies)


def numpy_row_sum(_program: Program, arguments: tuple[Any, ...]) -> Peer:
    """``numpy.sum`` along the rows."""
    a: Array = arguments[0]
    s: Array = arguments[1].copy()
    return "NumPy", lambda: np.sum(a, axis=1, out=s)


def numpy_solve(_program: Program, arguments: tuple[Any, ...]) -> Peer:
    """SciPy's triangular solver if it is installed, else NumPy's general one."""
    lower: Array = arguments[0]
    b: Array = arguments[1].copy()
    if find_spec("scipy") is None:
        return "NumPy solve", lambda: np.linalg.solve(lower, b)
    scipy: Any = import_module("scipy.linalg")
    solve: Callable[..., object] = scipy.solve_triangular
    return "SciPy", lambda: solve(lower, b, lower=True, check_finite=False)


def _cube(n: int) -> Size:
    return {"M": n, "N": n, "K": n}


def _large(name: str) -> Size:
    return PROGRAMS[name].large


CONVOLUTIONS = tuple(name for name in PROGRAMS if name.startswith("conv_2d"))
CASES = (
    *(Case("matmul", _cube(n), numpy_matmul) for n in (256, 512, 1024)),
    Case("matmul", _large("matmul"), numpy_matmul),
    *(
        Case(f"linalg_matmul_{kind}", _cube(n), numpy_matmul)
        for kind in ("f32", "f64")
        for n in (256, 512, 1024, 2048)
    ),
    Case("linalg_matmul_f32", {"M": 64, "N": 3000, "K": 500}, numpy_matmul),
    Case("linalg_matmul_f32", {"M": 3000, "N": 64, "K": 500}, numpy_matmul),
    Case("linalg_matmul_i32", _cube(256), numpy_matmul),
    Case("linalg_matmul_tensor", _cube(1024), numpy_matmul),
    *(Case(name, _large(name), convolution) for name in CONVOLUTIONS),
    Case("jacobi_2d", _large("jacobi_2d"), numpy_jacobi),
    *(
        Case(name, {"T": 96, "H": n, "W": n}, untiled)
        for name in ("jacobi_2d", "seidel_2d")
        for n in (1000, 2000)
    ),
    Case("trsv", _large("trsv"), numpy_solve),
    Case("trsm", _large("trsm"), numpy_solve),
    Case("row_sum", _large("row_sum"), numpy_row_sum),
    Case("multiply_2019", _large("multiply_2019"), numpy_matmul),
    Case("dma_matmul", _large("dma_matmul"), numpy_matmul),
)


SETTLE = 0.06
"""Seconds after which the threads of a pool sleep."""


def rows(wanted: str = "", budget: float = 2.0) -> Iterator[Row | Failure]:
    """Check and time every case whose name contains ``wanted``."""
    for case in CASES:
        if wanted in case.name:
            yield attempt(case.name, partial(_measure, case, budget))


def _measure(case: Case, budget: float) -> Row:
    program = PROGRAMS[case.program]
    compiled = gcg.compile(program.path, target="cpu")[program.entry]
    program.run(compiled, case.size)
    arguments = program.arguments(case.size)
    peer, theirs = case.peer(program, arguments)
    pools = SETTLE if thread_count() > 1 else 0.0
    ours, others = race(compiled.bind(*arguments), theirs, budget=budget, settle=pools)
    return Row(case.name, peer, ours, others, program.problem.work(case.size))
