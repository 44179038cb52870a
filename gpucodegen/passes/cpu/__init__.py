"""Mapping to the CPU: threads, vectors, kernels and the host around them.

- `map_cpu`: Nests to register tiles and threads of the CPU, in every function
"""

from __future__ import annotations
