"""The pool by itself: every iteration once, whoever calls and whoever comes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from gpucodegen.intrinsics.framework.native import WORD, Code, Instruction
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.primitives import PROCESSOR, mode, pause, set_mode
from gpucodegen.intrinsics.pool.shares import start_of
from gpucodegen.runtime.cpu import pool
from gpucodegen.runtime.cpu.own_pool import compiled
from gpucodegen.runtime.storage import machine_code
from tests.house.readme import ROOT
from tests.runtime.pool_calls import count_up, is_once, memory, nested, parallel_for

FLUSHES = {"x86_64": 1 << 15, "aarch64": 1 << 24}.get(PROCESSOR, 0)
"""The bit of the mode that makes denormal numbers 0."""
pytestmark = pytest.mark.skipif(not pool.HAS_OWN, reason="needs POSIX threads")


@pytest.mark.slow
@pytest.mark.cases("width", [1, 2, 3, 7, layout.MOST_THREADS])
def test_each_iteration_runs_once(width: int) -> None:
    rng = np.random.default_rng(width)
    few = width > 8
    for count in (0, 1, 2, 3, layout.MOST_UNITS, 20_000, *rng.integers(0, 3000, 200)):
        assert is_once(int(count), width)
        if few:
            break


def test_negative_counts_are_none() -> None:
    parallel_for()(count_up(), 0, -3, 2)


def test_parts_are_even_and_complete() -> None:
    for parts in range(1, 9):
        for total in range(parts, 40):
            starts = [start_of(k, parts, total) for k in range(parts + 1)]
            sizes = np.diff(starts)
            assert (starts[0], starts[-1]) == (0, total)
            assert sizes.max() - sizes.min() <= 1


def test_callers_at_the_same_time_do_not_wait_for_each_other() -> None:
    def call(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        return all(is_once(int(n), 3) for n in rng.integers(0, 500, 300))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(call, range(4)))


def test_a_loop_in_a_loop_runs_where_it_is() -> None:
    counts = np.zeros(16 * 50, np.int64)
    for _ in range(100):
        parallel_for()(nested(), counts.ctypes.data, 50, 2)
    assert (counts == 100).all()


def run(code: str) -> str:
    """Output of a process that has ``is_once`` and the pool's ``words``."""
    head = f"""
import ctypes, os, threading, time, sys
sys.path.insert(0, {str(ROOT)!r})
from gpucodegen.intrinsics.pool import layout
from tests.runtime.pool_calls import *
parallel_for(), count_up()
words = memory()
"""
    done = subprocess.run(
        [sys.executable, "-c", head + code],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_caller_does_not_wait_for_a_worker_that_never_comes() -> None:
    code = """
if sys.platform == "linux":  # nowhere else to move workers that are none
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
words[layout.STARTED] = 3  # as the caller sees workers that no core runs
print(all(is_once(n, 4) for n in range(200)))
"""
    assert run(code) == "True"


@pytest.mark.slow
def test_without_threads_the_caller_does_all() -> None:
    code = """
libc = ctypes.CDLL(None)
attributes = ctypes.c_void_p(ctypes.addressof(words) + 8 * layout.ATTRIBUTES)
libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 60))
print(all(is_once(n, 4) for n in range(50)), words[layout.STARTED])
"""
    assert run(code) == "True 0"


@pytest.mark.slow
def test_a_child_has_a_pool_of_its_own() -> None:
    code = """
def busy():
    while True:
        is_once(1000, 2)
print(is_once(100, 3), words[layout.STARTED])
threading.Thread(target=busy, daemon=True).start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        before, words[layout.CROWDED] = words[layout.STARTED], 1
        good = before == 0 and is_once(100, 2) and words[layout.STARTED] == 1
        os._exit(0 if good else 3)
    assert os.waitpid(child, 0)[1] == 0
print("children are well")
sys.stdout.flush()
"""
    assert run(code) == "True 2\nchildren are well"


@pytest.mark.slow
def test_the_end_of_a_process_is_quiet() -> None:
    code = """
def busy():
    while True:
        is_once(100000, 3)
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.1)
print("end")
"""
    assert run(code) == "end"


def tell(begin: int, end: int, data: int) -> None:
    """The mode of the thread in each iteration, told often."""
    for i in range(begin, end):
        for _ in range(20_000):
            put(data + 8 * i, mode())


def get() -> int:
    """The mode of this thread."""
    return mode()


def change(how: int) -> None:
    """Another mode for this thread."""
    set_mode(how)


def _put(code: Code, address: Any, value: Any) -> None:
    target = code.builder.inttoptr(address, WORD.as_pointer())
    code.builder.store(value, target)


put = Instruction(_put)


def in_c(function: Any, words: int) -> Any:
    name = f"test_{function.__name__}"
    address = machine_code.address_in(compiled({name: function}, name))
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * words)(address)


@pytest.mark.slow
def test_workers_round_and_flush_as_their_caller() -> None:
    work, now, switch = in_c(tell, 3), in_c(get, 0), in_c(change, 1)
    address = ctypes.cast(work, ctypes.c_void_p).value
    before = now()
    try:
        for how in (before, before ^ FLUSHES, before):
            switch(how)
            for _ in range(20):
                modes = np.zeros(64, np.int64)
                parallel_for()(address, modes.ctypes.data, 64, 2)
                assert set(modes) == {how}
    finally:
        switch(before)


def last(begin: int, end: int, data: int) -> None:
    """Later iterations take longer: some milliseconds, and five times as long."""
    for i in range(begin, end):
        for _ in range(200_000 * (1 + 4 * i)):
            pause()
        put(data + 8 * i, 1)


def test_a_caller_that_waits_long_sleeps_and_lends_its_core() -> None:
    parallel_for()
    work, words = in_c(last, 3), memory()
    address = ctypes.cast(work, ctypes.c_void_p).value
    seen: set[tuple[int, bool]] = set()

    def call() -> None:
        done = np.zeros(2, np.int64)
        parallel_for()(address, done.ctypes.data, 2, 2)
        assert done.all()

    for _ in range(50):  # where cores are few, no worker may come in time
        caller = threading.Thread(target=call)
        caller.start()
        while caller.is_alive():
            lends = words[layout.CORE] == layout.NO_CORE
            seen.add((words[layout.WAITS], lends))
        if (1, sys.platform == "linux") in seen:
            break
    assert (1, sys.platform == "linux") in seen
    assert is_once(100, 2)
    assert words[layout.WAITS] == 0
    assert words[layout.CORE] != layout.NO_CORE


def sums(count: int, limit: int) -> int:
    """Words of every kind: what Python gives, native code gives."""
    total, step = 0, 1
    for i in range(count):
        if i % 3 == 0 or (i > limit and i != 7):
            total += i << 1
        elif not_even(i) and i <= limit:
            total -= min(i, 5, limit) * step
        else:
            step = (step + (i | 8) // 3) & 15
    while total > 1000:
        total = total >> 1
    return ~total


def not_even(number: int) -> int:
    return number & 1 == 1


def test_native_code_computes_as_python() -> None:
    call = in_c(sums, 2)
    for count in range(0, 60, 7):
        for limit in range(12):
            assert call(count, limit) == sums(count, limit)


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves threads")
WORKERS = """
threads = lambda: {int(name) for name in os.listdir("/proc/self/task")}
before, cores = threads(), sorted(os.sched_getaffinity(0))
if len(cores) == 1:
    print("one core")
    sys.exit()
assert is_once(100, 3)
workers = threads() - before
places = lambda: {frozenset(os.sched_getaffinity(worker)) for worker in workers}
"""


@pytest.mark.slow
@LINUX
def test_workers_leave_the_core_of_the_caller() -> None:
    code = """
def is_apart():
    is_once(100, 3)
    (place,) = places()
    here = words[layout.CORE]
    return place == set(cores) - {here}
print(len(workers), any(is_apart() for _ in range(100)))
"""
    assert run(WORKERS + code) in {"2 True", "one core"}


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("whose", [["0"], ["0", "*workers"]], ids=["caller", "all"])
def test_workers_stay_where_the_caller_may_be(whose: list[str]) -> None:
    """Somebody takes cores away, of one thread or of all, and gives them back."""
    code = f"""
def move(allowed):
    for thread in [{", ".join(whose)}]:
        os.sched_setaffinity(thread, allowed)
    words[layout.CROWDED] = 0
    return all(is_once(100, 3) for _ in range(70)), words[layout.CORES]
for left in (cores[:1], cores[-1:], cores):
    print(*move(left), end=" ")
assert places() == {{frozenset(cores) - {{words[layout.CORE]}}}}
"""
    found = run(WORKERS + code)
    assert found == f"True 1 True 1 True {len(os.sched_getaffinity(0))}" or (
        found == "one core"
    )
