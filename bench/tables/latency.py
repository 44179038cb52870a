"""What a user waits for besides the work; the peer is the time it may take.

Cold and warm: from the text of a program to its first result in a new process, the
import of this package included; cold without anything on disk, warm with what an
earlier process left there.  A tuned schedule is looked up once all is loaded that the
same call needs without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpucodegen as gcg
from bench.harness import Times, race
from bench.row import OURS, Row, Settings
from examples.polybench.catalogue import KERNELS
from gpucodegen.calls.function import Function
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.devices.emulated_device import EmulatedDevice

ROOT = Path(__file__).parents[2]
FIRST_RESULT = """
import sys, time
from {catalogue} import {programs}
program = {programs}[{name!r}]
arguments = program.arguments()
start = time.perf_counter()
import gpucodegen
gpucodegen.compile(program.path, target="cpu")[program.entry](*arguments)
print(time.perf_counter() - start)
"""
IMPORT = """
import time
start = time.perf_counter()
import gpucodegen
print(time.perf_counter() - start)
"""
STORED = 10_000
"""Trials of the store in which a schedule is looked up."""
FOUND = """
import time
import numpy as np
import gpucodegen as gcg
from gpucodegen.compiling import tuned_schedules

text = '''func.func @twice(%a: memref<64xf32>) {{
  affine.for %i = 0 to 64 {{
    %v = affine.load %a[%i] : memref<64xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %a[%i] : memref<64xf32>
  }}
  return
}}'''
a = np.zeros(64, np.float32)
gcg.compile(text, target="cpu", tuned=False).twice(a)
function = gcg.compile(text, target="cpu").twice
call = function.source, "twice", function.key_for((a,)), function.options
start = time.perf_counter()
found = tuned_schedules.final_options(*call)
seconds = time.perf_counter() - start
if found.tile_sizes != (8,):
    store, key = tuned_schedules.tuning_store(), tuned_schedules.tuning_identity(*call)
    store.session(key).crown({{"tile0": 8}}, 1.5)
    rows = [(key, str(n), "ok", 1.0, "", "", 0.0) for n in range({stored})]
    with store.connection() as database:
        database.execute("begin")
        database.executemany("insert into trial values (?,?,?,?,?,?,?)", rows)
        database.execute("commit")
print(seconds)
"""
PROCESSES = 3
"""New processes of a line."""


def seconds_in_process(code: str, environment: Mapping[str, str]) -> float:
    """What a new process prints; it may store bytecode, which a first one makes."""
    inherited = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


@dataclass(frozen=True, slots=True)
class InProcess:
    """Something that each of some new processes does once; ``goal`` in seconds."""

    name: str
    code: str
    goal: float
    is_cold: bool = False

    def measure(self, settings: Settings) -> Row:
        """Start the processes one after the other; warm ones share a disk cache."""
        del settings
        with tempfile.TemporaryDirectory() as folder:

            def once(number: int) -> float:
                cache = str(Path(folder) / str(number if self.is_cold else 0))
                return seconds_in_process(self.code, {"GPUCODEGEN_CACHE_DIR": cache})

            if not self.is_cold:
                once(0)
            seconds = [once(number) for number in range(PROCESSES)]
        return Row(self.name, {OURS: Times.of(seconds), "goal": goal(self.goal)})


@dataclass(frozen=True, slots=True)
class Repeated:
    """A call of this process; ``goal`` in seconds."""

    name: str
    make: Callable[[], Callable[[], object]]
    goal: float
    each: int = 1

    def measure(self, settings: Settings) -> Row:
        """The time of one of ``each`` calls in a row."""
        call = self.make()

        def calls() -> None:
            for _ in range(self.each):
                call()

        (times,) = race(calls, clock=settings.clock, budget=settings.budget / 4)
        one = Times(times.best / self.each, times.median / self.each)
        return Row(self.name, {OURS: one, "goal": goal(self.goal)})


def goal(seconds: float) -> Times:
    """A time that is allowed, as that of a peer."""
    return Times(seconds, seconds)


SMALL = """func.func @{name}({arguments}) {{
  affine.for %i = 0 to 16 {{
    %v = affine.load %x0[%i] : memref<16xf32>
    affine.store %v, %x{last}[%i] : memref<16xf32>
  }}
  return
}}"""


def small_call(count: int, *, bound: bool) -> Callable[[], object]:
    """A call with ``count`` arrays that does next to nothing."""
    function = small_function(count, "cpu")
    arrays = [np.zeros(16, np.float32) for _ in range(count)]
    return function.bind(*arrays) if bound else lambda: function(*arrays)


def small_function(count: int, target: str) -> Function:
    """A function of ``count`` arrays that copies the first to the last."""
    arguments = ", ".join(f"%x{i}: memref<16xf32>" for i in range(count))
    text = SMALL.format(name="small", arguments=arguments, last=count - 1)
    return gcg.compile(text, target=target)["small"]


class NullDevice(EmulatedDevice):
    """An emulated device whose launches do nothing."""

    def launch(self, *_: object, **__: object) -> None:
        """What a launch takes has been checked and packed by now."""


def null_launch(count: int, *, kind: str) -> Callable[[], object]:
    """The same on a device that does nothing: what a launch costs before a driver."""
    device = NullDevice(0)
    arrays = [device.empty((16,), np.dtype(np.float32)) for _ in range(count)]
    before = os.environ.get(choice.VARIABLE)
    os.environ[choice.VARIABLE] = "emulated"  # which first calls on target cuda need
    try:
        function = small_function(count, "cuda")
        function(*arrays)
        graph = function.bind(*arrays, graph=True)
        bound = function.bind(*arrays)
    finally:
        os.environ.pop(choice.VARIABLE)
        if before is not None:
            os.environ[choice.VARIABLE] = before
    stream = device.new_stream()
    calls: dict[str, Callable[[], object]] = {
        "bound": bound,
        "graph": graph,
        "unbound": lambda: function(*arrays),
        "unbound, on a stream": lambda: function(*arrays, stream=stream),
    }
    return calls[kind]


TEXT = "\n".join(kernel.text for kernel in KERNELS.values())
PARSED_PER_SECOND = 200_000
"""Characters of text."""


def first_result(catalogue: str, programs: str, name: str) -> tuple[InProcess, ...]:
    """Cold and warm start of a program of the examples."""
    code = FIRST_RESULT.format(catalogue=catalogue, programs=programs, name=name)
    return (
        InProcess(f"{name}: cold", code, 3.0, is_cold=True),
        InProcess(f"{name}: warm", code, 0.5),
    )


EXAMPLES = ("matmul", "linalg_matmul_f64", "conv_2d_nhwc_strided", "jacobi_2d", "trsm")
POLYBENCH = ("gemm", "3mm", "syrk", "covariance", "heat-3d", "cholesky", "adi")

LINES = (
    InProcess("import gpucodegen", IMPORT, 0.1),
    InProcess(
        f"a tuned schedule, found among {STORED} trials",
        FOUND.format(stored=STORED),
        0.01,
    ),
    Repeated(
        f"parse {len(TEXT)} characters",
        lambda: lambda: [gcg.parse(kernel.text) for kernel in KERNELS.values()],
        len(TEXT) / PARSED_PER_SECOND,
    ),
    *(
        Repeated(
            f"{kind} call, {count} arrays",
            lambda count=count, kind=kind: small_call(count, bound=kind == "bound"),
            seconds,
            each=1000,
        )
        for kind, seconds in (("bound", 3e-6), ("unbound", 15e-6))
        for count in (1, 3, 6)
    ),
    *(
        Repeated(
            f"CUDA, no device: {kind} call, {count} arrays",
            lambda count=count, kind=kind: null_launch(count, kind=kind),
            seconds,
            each=1000,
        )
        for kind, seconds in (
            ("bound", 3e-6),
            ("graph", 3e-6),
            ("unbound", 10e-6),
            ("unbound, on a stream", 10e-6),
        )
        for count in (1, 3, 6)
    ),
    *(
        line
        for catalogue, programs, names in (
            ("examples.catalogue", "PROGRAMS", EXAMPLES),
            ("examples.polybench.catalogue", "KERNELS", POLYBENCH),
        )
        for name in names
        for line in first_result(catalogue, programs, name)
    ),
)
