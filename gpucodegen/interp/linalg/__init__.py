"""Structured operations, by their maps and bodies at every point of their loops.

- `structured`: generic and named ones
- `relayout`: pack, unpack, softmax
- `winograd`: transforms of its convolutions
- `old`: views, windows and loops of earlier years
"""

from __future__ import annotations
