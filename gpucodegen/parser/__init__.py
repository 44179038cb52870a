"""MLIR text of any vintage to a module in memory.

- `tokens`: words and strings
- `names`: blocks and values
- `parser`: the state of one parse, which every rule knows
- `definitions`: aliases and resources
- `affine`: maps, sets, subscripts
- `types`: types
- `attributes`: attributes and locations
- `vintages`: text of earlier years
- `operations`: operations and regions
- `grammar`: all rules together
- `toplevel`: a whole file
"""

from __future__ import annotations

from gpucodegen.parser.grammar import parse_module, split_input

__all__ = ["parse_module", "split_input"]
