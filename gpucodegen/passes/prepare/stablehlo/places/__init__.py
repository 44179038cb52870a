"""Rules for elements at places that other tensors tell.

- `lookups`: gather, and parts from a place on
- `scatters`: elements combined with those at places
- `sorting`: sort and top_k, as a network of exchanges
- `selected`: what goes where the largest of each window was
"""

from __future__ import annotations
