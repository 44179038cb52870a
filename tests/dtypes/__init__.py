"""What each element type can do, found by running it: docs/dtypes.md.

- `programs`: three small programs for each type, and sums of many ones
- `page`: what happened to each when all were run last, and the page

``python -m tests.dtypes`` runs them all, and writes `outcomes.txt` and the page.
"""

from __future__ import annotations
