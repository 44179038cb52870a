"""MLIR text of any vintage to a module in memory.

- `tokens`: words, numbers, strings
- `names`: aliases, blocks, values
- `parser`: the state of one parse, which every rule knows
- `affine`: maps, sets, subscripts
- `types`: types
- `attributes`: attributes and locations
- `unregistered`: operations without a definition, kept as text
- `vintages`: text of earlier years
- `operations`: operations in either form
- `regions`: regions, blocks, successors
- `grammar`: all rules together
- `toplevel`: a whole file
"""

from __future__ import annotations

from gpucodegen.parser.toplevel import parse_module, split_input

__all__ = ["parse_module", "split_input"]
