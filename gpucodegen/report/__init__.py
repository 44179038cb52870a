"""Why the compiler does what it does with a nest, as text, pictures and one page.

Comes in: MLIR.  Goes out: an `explanation.Explanation`.

- `sizes`: the sizes that a reader asks for
- `subjects`: functions and nests with what is proven of them
- `strides`: how far accesses move in memory
- `schedule_tree`: the order of executions
- `kernels`: what the default pipeline makes of it
- `wording`: places, distances and tables in words
- `facts`: what else is found of a nest: tiles, fronts, footprints, doubts
- `faces`: all of it in words, and as records for machines
- `pictures`: the same as SVG
- `calls`: what a call is compiled for
- `page`: one page of HTML
- `explanation`: all of it
- `gpu`: what limits kernels on a GPU
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No options."""
PICTURES = ("space", "tree", "kernel")
"""Two loops of a nest, its schedule tree, who writes what in a kernel made from it."""
