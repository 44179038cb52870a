"""Threads that share the iterations of parallel loops, as machine code.

`layout` says what lies where in the memory of the pool, `words` and `system` are the
instructions and the calls that it is made of, `shares` divides the units of a job,
`loops` is what the caller and the workers do.
"""

from __future__ import annotations
