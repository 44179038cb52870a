"""How long kernels of a GPU take to compile, to PTX and without anything on disk.

Seconds of the processor.  Warm: in a process that has compiled others; beside it the
same compiler with Numba's front end in the place of its own, and a naive kernel of
Numba's users (a product in three loops, by numba-cuda, whose sources say far less).
New process: imports included, with bytecode at hand.  Goals are those of the project:
0.8 s warm and 1.8 s in a new process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gpucodegen as gcg
from bench.gpu.kernels import KERNELS
from bench.harness import Times, processor_clock
from bench.row import OURS, Row, Settings
from bench.tables.latency import InProcess, goal

WARM, COLD = 0.8, 1.8
REPEATS = 3
NUMBA = "by Numba's front end"
NAIVE = "numba-cuda, a naive product"
NEW_PROCESS = """
import os
import time
os.environ["GPUCODEGEN_CACHE_SIZE"] = "0"
import numpy
start = time.process_time()
import gpucodegen
gpucodegen.compile({source!r}, **{options!r}).assembly({entry!r})
print(time.process_time() - start)
"""


def compiled(name: str, arch: str) -> dict[str, str]:
    """The PTX of a kernel of the benchmark at its measured size."""
    source, options = _program(name, arch)
    return gcg.compile(source, **options).assembly(KERNELS[name].entry)


def _program(name: str, arch: str) -> tuple[str, dict[str, Any]]:
    """The text and the options of a kernel."""
    kernel = KERNELS[name]
    source = kernel.program(kernel.large)
    text = source.read_text("utf-8") if isinstance(source, Path) else source
    return text, {**kernel.options, "target": "cuda", "arch": arch}


def _with_front_end(front_end: str, call: Callable[[], object]) -> object:
    variables = {"GPUCODEGEN_CACHE_SIZE": "0", "GPUCODEGEN_FRONT_END": front_end}
    with patch.dict(os.environ, variables):
        return call()


def _naive_product() -> object:
    """The PTX of a product in three loops."""
    from numba import types

    cuda: Any = import_module("numba.cuda")

    def product(a: Any, b: Any, c: Any) -> None:
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = types.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    matrix = types.Array(types.float32, 2, "C")
    return cuda.compile_ptx(product, (matrix, matrix, matrix), cc=(8, 0))


@dataclass(frozen=True, slots=True)
class Warm:
    """One kernel, compiled again and again in turns with its peers."""

    kernel: str
    arch: str

    @property
    def name(self) -> str:
        return f"{self.kernel}, {self.arch}"

    def measure(self, settings: Settings) -> Row:
        """Best and median of some compiles."""
        del settings
        make = partial(compiled, self.kernel, self.arch)
        calls: dict[str, Callable[[], object]] = {
            OURS: partial(_with_front_end, "direct", make),
            NUMBA: partial(_with_front_end, "numba", make),
        }
        if find_spec("numba_cuda") is not None:
            calls[NAIVE] = _naive_product
        for call in calls.values():
            call()
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(REPEATS):
            for name, call in calls.items():
                seconds[name].append(processor_clock(call))
        times = {name: Times.of(found) for name, found in seconds.items()}
        return Row(self.name, {**times, "goal": goal(WARM)})


def _lines(kernel: str, *architectures: str) -> tuple[Warm | InProcess, ...]:
    first = architectures[0]
    source, options = _program(kernel, first)
    entry = KERNELS[kernel].entry
    code = NEW_PROCESS.format(source=source, options=options, entry=entry)
    cold = InProcess(f"{kernel}, {first}: new process", code, COLD)
    return (*(Warm(kernel, arch) for arch in architectures), cold)


LINES: tuple[Warm | InProcess, ...] = (
    *_lines("f32 4096", "sm_80", "sm_90a"),
    *_lines("f64 4096", "sm_80", "sm_90a"),
    *_lines("f16 4096", "sm_80", "sm_90a"),
    *_lines("bf16 4096", "sm_80", "sm_90a"),
    *_lines("i8 4096", "sm_80", "sm_90a"),
    *_lines("f32 1000x513x777", "sm_80"),
    *_lines("conv nhwc 3x3 64", "sm_90a"),
    *_lines("conv nchw 3x3 64", "sm_90a"),
    *_lines("conv f16 nhwc 3x3 64", "sm_80", "sm_90a"),
    *_lines("softmax", "sm_90a"),
    *_lines("row sum", "sm_90a"),
    *_lines("jacobi 4096", "sm_90a"),
    *_lines("lu 1024", "sm_90a"),
)
