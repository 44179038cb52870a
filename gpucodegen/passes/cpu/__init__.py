"""Mapping to the CPU: threads, vectors, kernels and the host around them.

- `parallel_loops`: contractions to register tiles, loops to threads
- `map_cpu`: all nests of every function
- `vectorize`: innermost loops on vectors
- `scalar_steps`: scalar operations between nests
- `vector_runs`: vectors between nests
- `cpu_outliner`: a function as host and kernels
- `outline_blocks`: a function of several blocks as one kernel
- `outline_cpu`: all functions
"""

from __future__ import annotations
