"""Loops chosen by name, asked for legality, and replaced.

- `naming`: loops by name
- `chains`: perfectly nested loops
- `ranges`: ranges as index expressions
- `legality`: what `tiling` says, as errors
- `replacement`: copies in place of a loop
- `rewriting`: all chosen loops of a module
"""

from __future__ import annotations
