"""Threads that share the iterations of parallel loops, as machine code.

The rooms, in the order of a job:

| room | what is there |
|---|---|
| `layout` | what lies where in the memory of the pool |
| `words` | loads and stores of that memory, which threads share |
| `system` | calls of POSIX threads: starting, sleeping, waking, moving |
| `loops` | a caller opens a job and waits for it; a worker waits for the next job |
| `cores` | how many threads take part, and on which cores |
| `shares` | the units of a job, each done by one thread |
| `interrupts` | Python handles signals between units |
| `python` | the calls of the interpreter that this takes |
| `by_numba` | the same function on Numba's pool, for systems without POSIX threads |
"""

from __future__ import annotations
