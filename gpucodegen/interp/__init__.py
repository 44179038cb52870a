"""The reference interpreter: a module as it is written, one operation after the other.

Plain and slow.  It uses neither passes nor emitters, so that what it computes says
whether they are right.

- `registry`: the function that evaluates each operation
- `machine`: regions, blocks, branches
- `values`: numbers, arrays, buffers
- `scalars`: arithmetic
- `control`: functions, branches, loops
- `memory`: buffers
- `tensors`, `linalg`, `vectors`: their dialects
- `gpu`: launches, threads in turn
- `handlers`: what Python runs
- `program`: a function of a module
"""

from __future__ import annotations
