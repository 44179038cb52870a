"""Ctrl-C while threads share a loop: it ends between two of its pieces."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gpucodegen.runtime.cpu import pool
from tests.house.readme import ROOT

pytestmark = pytest.mark.skipif(not pool.HAS_OWN, reason="needs POSIX threads")

HEAD = f"""
import signal, sys, threading, time
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import gpucodegen as gcg
from gpucodegen.runtime.cpu import pool
from tests.runtime.pool_calls import memory, parallel_for
pool.processors = lambda: 2  # wherever this runs
parallel_for()
program = gcg.compile('''
func.func @f(%x: memref<64xi64>, %n: index) {{
  %one = arith.constant 1 : i64
  affine.for %t = 0 to %n {{
    affine.parallel (%i) = (0) to (64) {{
      %v = affine.load %x[%i] : memref<64xi64>
      %w = arith.addi %v, %one : i64
      %u = arith.muli %w, %one : i64
      affine.store %u, %x[%i] : memref<64xi64>
    }}
  }}
  return
}}
''', target="cpu", threads=2, exact=True)
x = np.zeros(64, "i8")
program.f(x, 1)
assert (x == 1).all()
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_long_kernel_ends_and_the_next_one_runs() -> None:
    code = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    program.f(x, 10**12)
except KeyboardInterrupt:
    print("interrupted")
x[:] = 0
program.f(x, 3)
print(set(x.tolist()))
"""
    assert run(code) == "interrupted\n{3}"


@pytest.mark.slow
def test_a_handler_that_does_not_raise_runs_and_the_kernel_goes_on() -> None:
    """The kernel takes more and more steps until the signal comes while it runs."""
    code = """
n, seen = 1000, []
signal.signal(signal.SIGALRM, lambda *_: seen.append(x[0] - before))
while not seen or not 0 < seen[0] < n:
    n *= 2
    seen.clear()
    before = x[0]
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    program.f(x, n)
    while not seen:
        time.sleep(0.001)
print(len(seen), set((x - before).tolist()) == {n})
"""
    assert run(code) == "1 True"


@pytest.mark.slow
def test_kernels_of_other_threads_go_on() -> None:
    """Ctrl-C is for the main thread, whose own kernel ends.

    The other kernel takes more and more steps until it still runs then.
    """
    code = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
n, is_running = 10_000, False
while not is_running:
    n *= 4
    y = np.zeros(64, "i8")
    other = threading.Thread(target=program.f, args=(y, n))
    other.start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        program.f(x, 10**12)
    except KeyboardInterrupt:
        is_running = other.is_alive()
    other.join()
    assert set(y.tolist()) == {n}
print("interrupted")
"""
    assert run(code) == "interrupted"
