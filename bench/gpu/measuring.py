"""Kernels checked, raced against their peers and set beside their estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.gpu.device import Target
from bench.gpu.kernel import GpuKernel
from bench.gpu.peers import PEERS
from bench.harness import Times, race
from bench.row import OURS
from examples.catalogue import PROGRAMS, Program
from examples.polybench.catalogue import KERNELS as POLYBENCH
from examples.problems import RESULT, Answer, Arguments, Size
from gpucodegen import errors
from gpucodegen.report.gpu.model import FunctionReport
from gpucodegen.report.gpu.report import report

SETS = 64
"""Most sets of arguments of a round."""
GRAPH = "gpucodegen, one graph"


@dataclass(frozen=True, slots=True)
class Check:
    """A program run once; ``reason`` is empty if it left the answer."""

    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """A kernel's times and estimate in seconds; ``left_out``: peers, and why."""

    name: str
    kind: str
    flops: int
    bytes: int
    seconds: Mapping[str, Times]
    estimate: float | None
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def ratio(self) -> float | None:
        """Our best time over the estimate."""
        return self.seconds[OURS].best / self.estimate if self.estimate else None


@dataclass(frozen=True, slots=True)
class Lost:
    """A kernel that could not be measured."""

    name: str
    reason: str


def first_line(error: BaseException) -> str:
    """What a failure is called in a row."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]


def checks(
    device: Target, kernels: Mapping[str, GpuKernel], wanted: str = ""
) -> Iterator[Check]:
    """Examples and PolyBench kernels of such names, and the table's, when small."""
    programs = (*PROGRAMS.values(), *POLYBENCH.values())
    for program in (p for p in programs if wanted in p.name):
        yield _attempted(program.name, lambda p=program: _check_program(device, p))
    for kernel in kernels.values():
        yield _attempted(kernel.name, lambda k=kernel: check(device, k, k.small))


def _attempted(name: str, run: Callable[[], None]) -> Check:
    try:
        run()
    except Exception as error:
        return Check(name, first_line(error))
    return Check(name)


def _check_program(device: Target, program: Program) -> None:
    host = program.arguments()
    answer = program.problem.answer(*host)
    compiled = gcg.compile(program.path, target=device.target)[program.entry]
    there = _put(device, host)
    result = compiled(*there)
    program.check(answer, tuple(map(device.get, there)), device.get(result))


def check(device: Target, kernel: GpuKernel, size: Size) -> None:
    """Raise an AssertionError unless a call leaves the answer."""
    host = kernel.arguments(np.random.default_rng(0), size)
    answer = kernel.answer(*_copied(host))
    there = _put(device, host)
    result = _compiled(device, kernel, size)(*there)
    _compare(kernel, answer, tuple(map(device.get, there)), device.get(result))


def _compiled(device: Target, kernel: GpuKernel, size: Size) -> Any:
    program = kernel.program(size)
    return gcg.compile(program, target=device.target, **kernel.options)[kernel.entry]


def _put(device: Target, arguments: Arguments) -> Arguments:
    return tuple(map(device.put, _copied(arguments)))


def _copied(arguments: Arguments) -> Arguments:
    return tuple(a.copy() if hasattr(a, "shape") else a for a in arguments)


def _compare(kernel: GpuKernel, answer: Answer, left: Arguments, result: Any) -> None:
    for position, right in answer.items():
        found = np.asarray(result if position == RESULT else left[position])
        scale = float(np.abs(right).max(initial=1))
        np.testing.assert_allclose(
            found.astype(right.dtype),
            right,
            rtol=kernel.tolerance,
            atol=kernel.tolerance * scale,
            err_msg=f"{kernel.name}: value {position}",
        )


def measure(device: Target, kernel: GpuKernel, size: Size, budget: float) -> Measured:
    """Check a kernel at this size, then race it; ``budget`` in seconds.

    A round calls a contender once on each of several sets of arguments, which together
    take twice the room of the L2 cache; times are those of one call.
    """
    check(device, kernel, size)
    host = kernel.arguments(np.random.default_rng(0), size)
    compiled = _compiled(device, kernel, size)
    sets = [_put(device, host) for _ in range(rotation(host, device.cache))]
    makers: dict[str, Callable[..., Any]] = {
        OURS: compiled.bind,
        GRAPH: lambda *given: compiled.bind(*given, graph=True),
    }
    left_out: dict[str, str] = {}
    for name in kernel.peers:
        if PEERS[name].is_installed:
            makers[name] = PEERS[name].make
        else:
            left_out[name] = f"{PEERS[name].package} is not installed"
    rounds: dict[str, Callable[[], object]] = {}
    for name, make in makers.items():
        try:
            rounds[name] = _round([make(*arguments) for arguments in sets])
            rounds[name]()
        except Exception as error:
            if name == OURS:
                raise
            rounds.pop(name, None)
            left_out[name] = first_line(error)
    times = race(*rounds.values(), clock=device.clock, budget=budget)
    each = (Times(t.best / len(sets), t.median / len(sets)) for t in times)
    work = kernel.work(size)
    return Measured(
        kernel.name,
        kernel.kind.value,
        work.flops,
        work.bytes,
        dict(zip(rounds, each, strict=True)),
        estimated(device, kernel, size),
        left_out,
    )


def rotation(arguments: Arguments, cache: int) -> int:
    """How many sets of arguments it takes to fill a cache twice.

    >>> rotation((np.zeros(1 << 20),), 50 << 20)
    13
    """
    size = sum(getattr(a, "nbytes", 0) for a in arguments)
    return min(max(-(-2 * cache // max(size, 1)), 2), SETS)


def _round(calls: list[Callable[[], object]]) -> Callable[[], object]:
    def run() -> None:
        for call in calls:
            call()

    return run


def estimated(device: Target, kernel: GpuKernel, size: Size) -> float | None:
    """Seconds that the report expects, in the middle; None where it knows none."""
    if device.model is None:
        return None
    try:
        made = reported(kernel, size, device.architecture, device.model.name)
    except errors.Error:
        return None
    return None if made.time is None else sum(made.time) / 2e6


def reported(
    kernel: GpuKernel, size: Size, arch: str, model: str = ""
) -> FunctionReport:
    """The report of a kernel at a size."""
    sizes = kernel.open_extents(size)
    source = kernel.program(size)
    about = {"arch": arch, "device": model, "entry": kernel.entry}
    made = report(source, **about, sizes=sizes, options=kernel.options)
    return made.functions[0]


def calibration(rows: list[Measured | Lost]) -> dict[str, dict[str, float]]:
    """By kind, the median of time over estimate, and of how many rows.

    Constants of the model may be set from these; 1 means that the time is as expected.
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        if isinstance(row, Measured) and row.ratio is not None:
            found.setdefault(row.kind, []).append(row.ratio)
    return {
        kind: {"ratio": median(ratios), "rows": len(ratios)}
        for kind, ratios in found.items()
    }
