"""Ctrl-C while threads share a loop: it ends between two of its pieces."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gpucodegen.runtime.threads import pool
from tests.house.readme import ROOT

pytestmark = pytest.mark.skipif(not pool.HAS_OWN, reason="needs POSIX threads")

HEAD = f"""
import signal, sys, threading, time
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import gpucodegen as gcg
from gpucodegen.runtime.threads import pool
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
def steps(seconds):
    '''How many take at least so long.'''
    begin = time.perf_counter()
    program.f(x, 2000)
    return int(2000 * seconds / (time.perf_counter() - begin))
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_long_kernel_ends_and_the_next_one_runs() -> None:
    code = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
begin = time.perf_counter()
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    program.f(x, 10**12)
except KeyboardInterrupt:
    print("interrupted")
    print(time.perf_counter() - begin < 30)
x[:] = 0
program.f(x, 3)
print(set(x.tolist()))
"""
    assert run(code) == "interrupted\nTrue\n{3}"


def test_a_handler_that_does_not_raise_runs_and_the_kernel_goes_on() -> None:
    code = """
n, seen = steps(0.6), []
signal.signal(signal.SIGALRM, lambda *_: seen.append(x[0] - before))
before = x[0]
signal.setitimer(signal.ITIMER_REAL, 0.05)
program.f(x, n)
print(len(seen), seen[0] < n, set((x - before).tolist()) == {n})
"""
    assert run(code) == "1 True True"


def test_kernels_of_other_threads_go_on() -> None:
    """Ctrl-C is for the main thread, whose own kernel ends."""
    code = """
n = steps(0.5)
y = np.zeros(64, "i8")
other = threading.Thread(target=program.f, args=(y, n))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    other.start()
    program.f(x, 10**12)
except KeyboardInterrupt:
    print("interrupted")
other.join()
print(set(y.tolist()) == {n})
"""
    assert run(code) == "interrupted\nTrue"
