"""What the machine can do at best: measured, not looked up.

Comes in: a limit, an element type, a number of threads.  Goes out: the most
multiply-adds per second that a kernel without memory reaches, or the most bytes per
second that copies of arrays beyond all caches move (read and write counted once each).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.harness import SETTLE, Clock, settled
from bench.row import Limit, Settings
from gpucodegen.runtime.machine.processor import cpu

CHAINS = 12
"""Independent sums per thread: enough for four cycles of latency on two pipes."""
STEPS = 500_000
COPIED = 1 << 28
"""Bytes of each array of a copy."""
ROUNDS = 9
TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def ceiling(limit: Limit, dtype: str, settings: Settings) -> float:
    """GFLOP/s or GB/s that this machine was measured to reach; 0 without a limit."""
    if limit is Limit.FMA:
        return peak(dtype, settings) if dtype in TYPES else 0.0
    return bandwidth(settings) if limit is Limit.COPY else 0.0


def ceilings(settings: Settings) -> dict[str, float]:
    """All of them: GFLOP/s by element type, and GB/s of a ``copy``."""
    found = {dtype: peak(dtype, settings) for dtype in TYPES}
    return found | {"copy": bandwidth(settings)}


def chains(dtype: str, threads: int) -> str:
    """The kernel whose time is that of its multiply-adds.

    >>> print(chains("f64", 2).splitlines()[0].lstrip())
    func.func @chains(%in: memref<128xf64>, %out: memref<2x128xf64>) {
    """
    lanes = cpu().vector_bits // (8 * TYPES[dtype].itemsize)
    vector, held = f"vector<{lanes}x{dtype}>", range(CHAINS)
    start = ", ".join(f"%a{i} = %x" for i in held)
    types = ", ".join([vector] * CHAINS)
    fused = "\n".join(f"%b{i} = vector.fma %a{i}, %s, %x : {vector}" for i in held)
    ends = ", ".join(f"%b{i}" for i in held)
    sums = "\n".join(f"%r{i + 1} = arith.addf %r{i}, %o#{i} : {vector}" for i in held)
    source, target = f"memref<128x{dtype}>", f"memref<{threads}x128x{dtype}>"
    return f"""func.func @chains(%in: {source}, %out: {target}) {{
      affine.parallel (%t) = (0) to ({threads}) {{
        %x = affine.vector_load %in[0] : {source}, {vector}
        %s = affine.vector_load %in[64] : {source}, {vector}
        %o:{CHAINS} = affine.for %i = 0 to {STEPS} iter_args({start}) -> ({types}) {{
          {fused}
          affine.yield {ends} : {types}
        }}
        %r0 = arith.addf %x, %x : {vector}
        {sums}
        affine.vector_store %r{CHAINS}, %out[%t, 0] : {target}, {vector}
      }}
      return
    }}"""


@cache
def peak(dtype: str, settings: Settings) -> float:
    """GFLOP/s of multiply-adds in registers."""
    threads = settings.threads
    program = gcg.compile(chains(dtype, threads), target="cpu", threads=threads)
    source = np.full(128, 0.5, TYPES[dtype])
    launch = program.chains.bind(source, np.empty((threads, 128), TYPES[dtype]))
    lanes = cpu().vector_bits // (8 * TYPES[dtype].itemsize)
    work = 2 * lanes * CHAINS * STEPS * threads
    return work / _best(launch, settings.clock) / 1e9


COPY = """func.func @copy(%in: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %in, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %x = affine.load %in[%i] : memref<?xf32>
    affine.store %x, %out[%i] : memref<?xf32>
  }
  return
}"""


@cache
def bandwidth(settings: Settings) -> float:
    """GB/s of the fastest copy of long arrays among ours, NumPy's and torch's."""
    source = np.ones(COPIED // 4, np.float32)
    target = np.zeros_like(source)
    program = gcg.compile(COPY, target="cpu", threads=settings.threads)
    contenders: list[Callable[[], object]] = [
        program.copy.bind(source, target),
        lambda: np.copyto(target, source),
    ]
    if find_spec("torch") is not None:
        torch: Any = import_module("torch")
        theirs, result = torch.from_numpy(source), torch.from_numpy(target)
        contenders.append(lambda: result.copy_(theirs))
    fastest = min(_best(call, settings.clock) for call in contenders)
    return 2 * COPIED / fastest / 1e9


def _best(call: Callable[[], object], clock: Clock) -> float:
    """Seconds of the fastest call of some turns."""
    call()
    return min(min(settled(call, clock, SETTLE)) for _ in range(ROUNDS))
