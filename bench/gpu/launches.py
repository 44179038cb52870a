"""What the host takes to start a kernel, beside a kernel that CuPy compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import gpucodegen as gcg
from bench.gpu import texts
from bench.gpu.device import Gpu
from bench.gpu.measuring import Measured
from bench.harness import Times, race
from bench.row import OURS

NAME = "launch"
CALLS = 100
"""Launches in a row; the device keeps up with them."""
RELU = r"""
extern "C" __global__ void relu(const float* x, float* y, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
"""


def launch(device: Gpu, budget: float) -> Measured:
    """A bound call, one that checks its arguments, and CuPy's `RawKernel`."""
    cupy, n = device.cupy, 1024
    work = "%r = arith.maximumf %v0, %zero : f32"
    text = texts.elementwise({"M": 1, "N": n}, work=work)
    relu = gcg.compile(text, target=device.target).f
    x, y = cupy.ones((1, n), "f4"), cupy.zeros((1, n), "f4")
    peer = partial(cupy.RawKernel(RELU, "relu"), (1,), (n,), (x, y, n))
    calls = {OURS: relu.bind(x, y), "unbound": partial(relu, x, y), "RawKernel": peer}
    rows = map(_row, calls.values())
    times = race(*rows, clock=device.host_clock, budget=budget)
    each = (Times(t.best / CALLS, t.median / CALLS) for t in times)
    return Measured(NAME, NAME, 0, 0, dict(zip(calls, each, strict=True)), None)


def _row(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            call()

    return run
