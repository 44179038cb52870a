"""Roofline plot of the default and the winner, under the measured roof of this machine.

After Williams, Waterman, Patterson: Roofline, an insightful visual performance model
(2009).  The roof is measured when the picture is drawn, for an element type and a
number of threads: multiply-adds per second of a kernel without memory accesses, and
bytes per second of a copy that exceeds the caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpucodegen.api import compile as compile_text
from gpucodegen.records import dataclass
from gpucodegen.report.plots.trial_points import is_default
from gpucodegen.runtime.processor import cpu

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial


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
    """A kernel whose time is that of its multiply-adds.

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
    """Floating-point operations of a call of `chains`."""
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
    """GB/s of the faster copy of long arrays, ours or NumPy's; read plus written."""
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


@dataclass(frozen=True, slots=True)
class Placed:
    """A program: its work, and seconds of its default and its present schedule."""

    work: Mapping[str, Any]
    default: float
    used: float
    threads: int

    @staticmethod
    def of(about: Mapping[str, Any], trials: Sequence[Trial], gain: float) -> Placed:
        """The stored data of a tuning.

        Raises ValueError where it has no floating-point work, or no default.
        """
        from gpucodegen.compiling.targets import find, names
        from gpucodegen.runtime.processor import thread_count

        work: Mapping[str, Any] = about.get("work", {})
        if not work.get("flops") or work.get("dtype") not in TYPES:
            raise ValueError("it has no known number of operations on f32 or f64")
        target = about.get("target")
        if target not in names() or find(target).runs_launches:
            raise ValueError("the roof is that of the CPU")
        times = [t.seconds for t in trials if t.seconds and is_default(t)]
        if not times:
            raise ValueError("its default schedule did not run")
        threads = about.get("threads") or thread_count()
        return Placed(work, times[0], times[0] / gain, threads)

    def rate(self, seconds: float) -> float:
        """GFLOP/s."""
        return self.work["flops"] / seconds / 1e9

    @property
    def intensity(self) -> float:
        """Operations per byte that has to be moved."""
        return self.work["flops"] / max(1, self.work["bytes"])


def draw(axis: Any, placed: Placed) -> None:
    """Both points, and the roof above them, on logarithmic axes."""
    top = peak(placed.work["dtype"], placed.threads)
    slope = bandwidth(placed.threads)
    ridge, here = top / slope, placed.intensity
    ends = [min(ridge, here) / 8, ridge, max(ridge, here) * 8]
    axis.plot(ends, [min(top, slope * x) for x in ends], color="0.3", linewidth=1.2)
    axis.annotate(
        f"{top:.0f} GFLOP/s of {placed.work['dtype']}",
        (ends[2], top),
        (0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
    )
    axis.annotate(
        f"{slope:.1f} GB/s",
        (ends[0], slope * ends[0]),
        (6, 0),
        textcoords="offset points",
        fontsize=7,
    )
    dots = {"default": (placed.default, "tab:orange", "o")}
    if placed.used < placed.default:
        dots["winner"] = (placed.used, "tab:green", "^")
    roof = min(top, slope * here)
    for name, (seconds, colour, marker) in dots.items():
        rate = placed.rate(seconds)
        label = f"{name}: {rate:.3g} GFLOP/s, {rate / roof:.0%} of the roof"
        axis.plot([here], [rate], marker, color=colour, label=label)
    axis.set_ylim(min(slope * ends[0], placed.rate(placed.default)) / 1.5, 1.6 * top)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    axis.set_xlabel("operations for each byte that has to be moved")
    axis.set_ylabel("GFLOP/s")
    axis.legend(fontsize="small", loc="lower right")
