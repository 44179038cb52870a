"""Made-up arguments of a function, so that it can be called for a report.

- `extents`: open extents: their names, how large they must be
- `made_up`: arrays and numbers of these sizes
"""

from __future__ import annotations
