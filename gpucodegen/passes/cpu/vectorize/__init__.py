"""Loops become vector operations.

The rooms, in the order of the work:

| room | what is there |
|---|---|
| `vectorize` | the pass: the forms that a loop may take, tried in order |
| `loop_site` | what a form is asked about: a loop, what is around it, the processor |
| `loops` | ranges of iterations; full vectors and what is left of a range |
| `recognize` | bodies that have a vector form: their accesses and operations |
| `operations` | the operations that vectors have, and their cost |
| `accumulations` | totals of innermost loops, and whether their order is free |
| `widen` | a body for several iterations at once |
| `transposed` | two loops that transpose: tiles, transposed in registers |
| `outer_loops` | outer-loop vectorization: a row in each lane |
| `innermost` | parallel innermost loops; loads of neighbours kept in registers |
| `reductions` | reductions along a row; argmin and argmax |
| `streaming_stores` | stores that go past the caches, and where their lines begin |
"""

from __future__ import annotations

from gpucodegen.passes.cpu.vectorize.vectorize import Vectorize

__all__ = ["Vectorize"]
