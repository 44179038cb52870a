"""Affine expressions, maps and integer sets.

- `expressions`: affine expressions, simplified as they are built
- `evaluation`: values put in for their variables
- `maps`: maps and integer sets
"""

from __future__ import annotations
