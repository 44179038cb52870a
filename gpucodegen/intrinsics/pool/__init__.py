"""Threads that share the iterations of parallel loops, as machine code.

`layout` says what lies where in the memory of the pool, `words` and `system` are the
instructions and the calls that it is made of, `shares` divides the units of a job,
`cores` keeps workers off the caller's core, `interrupts` lets Python handle signals
between units, `loops` is what both do.  `by_numba` is the
same on Numba's pool.
"""

from __future__ import annotations
