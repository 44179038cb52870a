"""What the machine can do at best, measured: the roof over a program.

Comes in: an element type and a number of threads.  Goes out: multiply-adds per second
of a kernel without memory, and bytes per second of a copy that no cache holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np

from gpucodegen.api import compile as compile_text
from gpucodegen.runtime.processor import cpu

CHAINS = 12
"""Independent sums per thread: enough for four cycles of latency on two pipes."""
STEPS = 500_000
COPIED = 1 << 27
"""Bytes of each array of a copy."""
ROUNDS = 5
TYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
COPY = """func.func @copy(%in: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %in, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %x = affine.load %in[%i] : memref<?xf32>
    affine.store %x, %out[%i] : memref<?xf32>
  }
  return
}"""


def lanes(dtype: str) -> int:
    """Elements of a vector register."""
    return cpu().vector_bits // (8 * TYPES[dtype].itemsize)


def chains(dtype: str, threads: int) -> str:
    """The kernel whose time is that of its multiply-adds.

    >>> print(chains("f64", 2).splitlines()[0].lstrip())
    func.func @chains(%in: memref<128xf64>, %out: memref<2x128xf64>) {
    """
    vector, held = f"vector<{lanes(dtype)}x{dtype}>", range(CHAINS)
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


def chained_work(dtype: str, threads: int) -> int:
    """Operations on floats of a call of `chains`."""
    return 2 * lanes(dtype) * CHAINS * STEPS * threads


@cache
def peak(dtype: str, threads: int) -> float:
    """GFLOP/s of multiply-adds in registers."""
    program = compile_text(chains(dtype, threads), target="cpu", threads=threads)
    source = np.full(128, 0.5, TYPES[dtype])
    launch = program.chains.bind(source, np.empty((threads, 128), TYPES[dtype]))
    return chained_work(dtype, threads) / _best(launch) / 1e9


@cache
def bandwidth(threads: int) -> float:
    """GB/s of the faster copy of long arrays, ours or NumPy's; read and written."""
    source = np.ones(COPIED // 4, np.float32)
    target = np.zeros_like(source)
    program = compile_text(COPY, target="cpu", threads=threads)
    calls = program.copy.bind(source, target), lambda: np.copyto(target, source)
    return 2 * COPIED / min(map(_best, calls)) / 1e9


def _best(call: Callable[[], object]) -> float:
    """Seconds of the fastest of some calls."""
    seconds: list[float] = []
    for _ in range(1 + ROUNDS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])
