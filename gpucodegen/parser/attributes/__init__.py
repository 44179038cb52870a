"""Attributes, dense literals, locations and resources.

- `dense`: lists of elements
- `resources`: the section of data at the end of a file
- `elements`: constants that are no lists
- `attributes`: all others
- `locations`: locations
"""

from __future__ import annotations
