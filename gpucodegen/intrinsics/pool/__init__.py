"""Threads that share the iterations of parallel loops, as machine code.

- `layout`: what lies where in the pool's memory
- `words`: instructions on words that threads share
- `system`: POSIX threads: starting, sleeping, waking
- `python`: what a loop needs of the interpreter
- `shares`: the units of a job, each done once
- `cores`: workers off the caller's core
- `interrupts`: signals between units
- `loops`: what callers and workers do
- `by_numba`: the same function on Numba's pool
"""

from __future__ import annotations
