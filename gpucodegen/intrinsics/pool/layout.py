"""The memory of the pool: 64-bit words, grouped in lines by writer and time.

Lines are pairs of cache lines, since processors fetch them in pairs.
"""

from __future__ import annotations

ENTRY = "gpucodegen_parallel_for"
"""The symbol of the function that kernels call."""
FUNCTIONS = {"worker": "worker", ENTRY: "parallel_for"}
"""Functions of a pool's module, by their symbols."""
RAISE = "gpucodegen_raise_kept"
"""The symbol of the function that raises the exception that ended a loop."""
MEMORY = "gpucodegen_pool"
"""The symbol of the first word."""
LINE = 16
"""Words of a line."""

OWNER = 0
"""1 while a caller has a job."""
EPOCH = LINE
"""The job: its number, and in the low bits how many threads may take part."""
WORK, DATA, COUNT, UNITS, MODE = range(EPOCH + 1, EPOCH + 6)
"""Of the job: function, its data, iterations, units of them, floating-point mode."""
DONE = 2 * LINE
"""Units of the job that are done."""
SLEEPERS = 3 * LINE
"""Workers that have to be woken."""
WAITS = SLEEPERS + 1
"""1 while the caller sleeps until its job is done."""
STARTED, CORE = 4 * LINE, 4 * LINE + 1
"""Workers; the core of the caller, which is not theirs."""
CORES, LOOKS, CROWDED = range(4 * LINE + 2, 4 * LINE + 5)
"""The number of allowed cores, and how often the caller has read it; 1 where there may
be more threads than cores.
"""
MAIN, STOPPED, SEEN, ASKED = range(4 * LINE + 5, 4 * LINE + 9)
"""The thread of Python that handles signals; 1 from when a handler raised there until
Python has it; when that thread was last in a loop, and when Python was last asked."""
RAISED = 4 * LINE + 9
"""The kept exception: three words."""
NO_CORE = 64 * LINE
"""The value of CORE while a worker has the core of the caller."""
MUTEX, SIGNAL, FINISHED, ATTRIBUTES = (place * LINE for place in (5, 6, 7, 8))
"""POSIX objects: a mutex, a condition of workers and one of the caller, thread
attributes.
"""
ALLOWED, MASK, KEPT = (place * LINE for place in (9, 10, 11))
"""Cores that the caller may use, and so workers; a set of cores or signals, and another
one."""
SHARES = 12 * LINE
"""The units that are left of each thread's share, a line each."""
HANDLE, BUSY = 8, 9
"""Within such a line: the system's name of the thread; 1 while it does units."""
MOST_THREADS = 256
WORDS = SHARES + MOST_THREADS * LINE

WIDTH_BITS = 16
UNIT_BITS = 12
"""Bits of a unit's number in the word of a share: job, first unit, end."""
JOB_BITS = 63 - 2 * UNIT_BITS
MOST_UNITS = (1 << UNIT_BITS) - 1
UNITS_PER_THREAD = 64
