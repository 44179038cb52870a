"""Attributes, numbers and locations.

- `numbers`: numbers at their types
- `dense`: lists of elements
- `elements`: constants that are no lists
- `attributes`: all others
- `locations`: locations
"""

from __future__ import annotations
