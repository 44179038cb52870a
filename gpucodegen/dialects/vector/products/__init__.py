"""Contractions, outer products and reductions of vectors.

- `contract`: ``vector.contract``
- `contract_checks`: its rules
- `outer`: ``vector.outerproduct``
- `reduction_checks`: rules of reductions and scans
- `operations`: the table
"""

from __future__ import annotations
