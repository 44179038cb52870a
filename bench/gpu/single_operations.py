"""KernelBench's level 1 by the report: launches, share of the roofline, compile time.

A row of the table tells the launches of a problem, the share ``bound / predicted`` of
the roofline's time in the report's, the compiler's processor time, and whether the
emulated device and the CPU are right at small shapes::

    python -m bench.gpu.single_operations [NUMBER | FIRST-LAST ...] [--small] [--large]

No GPU is needed; JAX is.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import gpucodegen as gcg
from bench.gpu.operation_problems import PROBLEMS, Array, Problem, Shape, jax
from gpucodegen.api import read_module
from gpucodegen.kernels.calls import Kernel
from gpucodegen.report.gpu import report as gpu_report
from gpucodegen.report.gpu.example_arguments import MadeUp
from gpucodegen.report.gpu.model import FunctionReport
from gpucodegen.report.gpu.report import report
from gpucodegen.tiling.machine.gpu.devices import GpuDevice

ARCHITECTURE = "sm_90a"
PEAKS: dict[str, Callable[[GpuDevice], float]] = {
    "f4": lambda device: device.flops,
    "p4": lambda device: device.flops,
    "f2": lambda _: 989.5,
}
"""TFLOP/s by the operands' type: f32 units, and tensor cores as published for H200."""


@dataclass(slots=True)
class Row:
    """What is known of a problem; ``bound`` and ``predicted`` in microseconds.

    ``predicted`` is in the middle of the report's interval, or what a kernel takes at
    least where the report knows none.
    """

    number: int
    name: str
    launches: int = 0
    threads: int = 0
    """The fewest threads of a launch."""
    bound: float = 0.0
    predicted: float = 0.0
    seconds: float = 0.0
    verdicts: dict[str, str] = field(default_factory=dict[str, str])
    kernels: list[str] = field(default_factory=list[str])
    failure: str = ""

    @property
    def ratio(self) -> float:
        return self.bound / self.predicted if self.predicted else 0.0

    def line(self) -> str:
        checked = " ".join(f"{k} {v}" for k, v in self.verdicts.items())
        known = f"{self.launches:>3}  {self.ratio:5.2f}  {self.seconds:5.1f} s"
        alone = "  ONE THREAD" if self.threads == 1 else ""
        return (
            f"{self.number:>3} {self.name:<28}{known}  {checked}{alone}  {self.failure}"
        )


def programs(problem: Problem, arrays: Sequence[Any]) -> Iterator[Program]:
    """The programs of a problem, with what they are called with."""
    if problem.of_jax is not None:
        text = jax.jit(problem.of_jax).lower(*arrays).as_text()
        yield Program(text, "main", tuple((a.shape, a.dtype) for a in arrays))
        return
    found: list[Program] = []

    def prepared(
        kernel: Kernel,
        operands: tuple[Array, ...],
        _out: object,
        _target: str,
        *options: Any,
        **_: Any,
    ) -> Array:
        recipe = kernel.prepare(operands, *options)
        views = recipe.views or [None] * len(operands)
        given = [a if v is None else v(a) for a, v in zip(operands, views, strict=True)]
        forms = [(a.shape, a.dtype) for a in given]
        forms.append((recipe.inside or recipe.shape, recipe.dtype))
        found.append(Program(recipe.text.text(), recipe.text.name, tuple(forms)))
        return np.empty(recipe.shape, recipe.dtype)

    with patch.object(Kernel, "__call__", prepared):
        assert problem.call is not None
        problem.call(*arrays, target="cuda")
    yield from found


@dataclass(frozen=True, slots=True)
class Program:
    """A text, its function, and the shapes and types of arguments."""

    text: str
    entry: str
    forms: tuple[tuple[Shape, Any], ...]

    def report(self) -> tuple[FunctionReport, GpuDevice, float]:
        """What the report says, and the processor time of compiling."""
        taken: list[float] = []

        def arguments(_: Any, function: Any, __: Any, device: Any) -> MadeUp:
            values = tuple(device.empty(shape, dtype) for shape, dtype in self.forms)
            start = processor_time()
            executable, _copied = function.compiled_for(values)
            executable.assembly()
            taken.append(processor_time() - start)
            return MadeUp(
                values, tuple(p.name for p in function.signature.parameters), {}
            )

        start = processor_time()
        module, _ = read_module(self.text)
        parsed = processor_time() - start
        with patch.object(gpu_report, "made_up", arguments):
            made = report(module, arch=ARCHITECTURE, entry=self.entry)
        return made.functions[0], made.device, parsed + taken[0]


def processor_time() -> float:
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def empty(shapes: Sequence[Shape], kinds: Sequence[str]) -> list[Array]:
    """Arrays whose pages are not touched."""
    return [
        np.empty(s, k.replace("p", "f")) for s, k in zip(shapes, kinds, strict=True)
    ]


def normal(shapes: Sequence[Shape], kinds: Sequence[str]) -> list[Array]:
    rng = np.random.default_rng(7)
    made: list[Array] = []
    for shape, kind in zip(shapes, kinds, strict=True):
        match kind:
            case "i4":
                made.append(rng.integers(0, 33, shape, "i4"))
            case "?":
                made.append(rng.random(shape) < 0.5)
            case "p4":
                made.append((rng.random(shape) + 0.1).astype("f4"))
            case _:
                made.append(rng.standard_normal(shape).astype(kind))
    return made


def sized(problem: Problem, row: Row) -> None:
    """The report at the benchmark's size."""
    arrays = empty(problem.large, problem.kinds())
    given = sum(a.nbytes for a in arrays)
    nbytes = given + _result_bytes(problem, arrays)
    for program in programs(problem, arrays):
        made, device, seconds = program.report()
        row.seconds += seconds
        for k in made.kernels:
            least = max(k.limits.clocks.values()) / device.clock / 1e3
            each = sum(k.limits.time) / 2 if k.limits.time is not None else least
            took = each * k.launch.launches
            row.predicted += took
            row.launches += k.launch.launches
            threads = prod(k.launch.grid) * prod(k.launch.block)
            row.threads = min(row.threads or threads, threads)
            row.kernels.append(
                f"{k.name} {k.launch.grid}x{k.launch.block} {took:.1f} us, "
                f"{k.limits.binding}, {k.limits.memory_bytes / 1e6:.1f} MB"
            )
        rate = PEAKS[problem.kinds()[0]](device)
        row.bound = max(nbytes / device.bandwidth / 1e3, problem.flops / rate / 1e6)


def _result_bytes(problem: Problem, arrays: Sequence[Array]) -> int:
    """Bytes of the result, by the shape of the last program's."""
    if problem.of_jax is not None:
        made = jax.tree.leaves(jax.eval_shape(problem.of_jax, *arrays))
        return sum(prod(one.shape) * one.dtype.itemsize for one in made)
    *_, last = programs(problem, arrays)
    shape, dtype = last.forms[-1]
    return prod(shape) * np.dtype(dtype).itemsize


def checked(problem: Problem, row: Row) -> None:
    """Whether targets are right at the small size."""
    arrays = normal(problem.small, problem.kinds())
    right = np.asarray(problem.answer(*(a.astype("f8") for a in arrays)))
    for target in ("sim", "cpu"):
        try:
            if problem.of_jax is not None:
                text = jax.jit(problem.of_jax).lower(*arrays).as_text()
                is_gpu = target == "sim"
                options: dict[str, Any] = {"arch": ARCHITECTURE} if is_gpu else {}
                found = gcg.compile(text, target=target, **options).main(*arrays)
            else:
                assert problem.call is not None
                found = problem.call(*arrays, target=target)
            found = np.asarray(found).astype("f8")
            scale = abs(right).max()
            far = abs(found - right).max() / max(scale, 1e-30)
            same = found.shape == right.shape and far < problem.tolerance
            row.verdicts[target] = "right" if same else f"WRONG by {far:.1e}"
        except Exception as error:
            row.verdicts[target] = f"FAILED {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def main() -> int:
    """Print a row for each problem, and a record of it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", default=["1-100"])
    parser.add_argument("--small", action="store_true", help="only check small shapes")
    parser.add_argument("--large", action="store_true", help="only report")
    parser.add_argument(
        "--out", default="", help="file that gets a line of JSON per row"
    )
    parser.add_argument("--kernels", action="store_true", help="a line for each kernel")
    options = parser.parse_args()
    for number in numbers(options.which):
        problem = PROBLEMS[number]
        row = Row(number, problem.name)
        if not options.large:
            checked(problem, row)
        if not options.small:
            try:
                sized(problem, row)
            except Exception as error:
                row.failure = _first_line(error)
        print(row.line(), flush=True)
        if options.kernels:
            print(*(f"      {k}" for k in row.kernels), sep="\n", flush=True)
        if options.out:
            with Path(options.out).open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row) | {"ratio": row.ratio}) + "\n")
    return 0


def numbers(words: Sequence[str]) -> list[int]:
    """Numbers of problems: ``3`` or ``3-7``."""
    ends = (word.partition("-") for word in words)
    spans = (range(int(a), int(b or a) + 1) for a, _, b in ends)
    return [n for n in chain.from_iterable(spans) if n in PROBLEMS]


if __name__ == "__main__":
    sys.exit(main())
